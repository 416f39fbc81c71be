module github.com/moonlap/moonlap

go 1.26

package runtime

import (
	"os"
	"path/filepath"
)

const (
	uvShimVariable = "MOONLAP_UVSHIM"
	uvShimName     = "libmoonlap_uvshim.so"
)

// uvShim is the variable by which moonlap.uv finds its C library beside this binary, where script/build
// puts both; the library's Lua files are unpacked elsewhere. It is none where there is no such file, or
// where the user has named one.
func uvShim() []string {
	program, err := os.Executable()
	if err != nil || os.Getenv(uvShimVariable) != "" {
		return nil
	}
	return uvShimIn(filepath.Dir(program))
}

func uvShimIn(folder string) []string {
	file := filepath.Join(folder, uvShimName)
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return []string{uvShimVariable + "=" + file}
}

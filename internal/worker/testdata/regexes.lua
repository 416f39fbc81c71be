-- Work on regular expressions for regex_test.go, which names the lines.
local _M = {}
local subject = ("lorem ipsum dolor sit amet 1234 "):rep(200) .. "needle99"
local find, match = ngx.re.find, ngx.re.match

function _M.compiled()
    for _ = 1, 100 do find(subject, [[nee+dle\d+]], "jo") end
end

function _M.interpreted()
    for _ = 1, 100 do find(subject, [[nee+dle\d\d]], "o") end
end

function _M.backtracking()
    match("aaaaaaaaaaaaaaaaaaaaab", [[^(a+)+$]], "jo")
end

function _M.anew()
    for i = 1, 100 do
        match("subject", "^(" .. ("abc|def(gh)?|"):rep(20) .. i .. ")$", "j")
    end
end

function _M.replaced()
    for _ = 1, 100 do
        ngx.re.gsub(subject, [[(?:n|x)ee+dle(\d+)]], "<$1>", "jo")
    end
end

function _M.patterns()
    for _ = 1, 100 do string.find(subject, "n.*ee%d%d%d") end
end

function _M.iterated()
    local n = 0
    for _ = 1, 10 do
        for word in subject:gmatch("[%a][%a][%a]+") do n = n + #word end
    end
end

-- Which of the two it is, the line does not tell.
function _M.two()
    for _ = 1, 100 do find(subject, [[nee+dle\d+]], "jo") find(subject, [[nee+dle\d*]], "jo") end
end

-- Nor is a pattern that is no constant of the function's.
local pattern = [[nee+dle\d{2}]]
function _M.variable()
    for _ = 1, 100 do find(subject, pattern, "jo") end
end

return _M

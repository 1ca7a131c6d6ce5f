module github.com/redquorum/redquorum/verification

go 1.26.0

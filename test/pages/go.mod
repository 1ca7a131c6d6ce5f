module github.com/redquorum/redquorum/test/pages

go 1.26.0

module github.com/redquorum/redquorum/tools/termpicture

go 1.26.0

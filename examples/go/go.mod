module libmdist/examples

go 1.19

require libmdist v0.0.0

replace libmdist => ../../src/go

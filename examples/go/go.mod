module example.org/libmdist/examples/go

go 1.19

require example.org/libmdist/src/go v0.3.0

replace example.org/libmdist/src/go => ../../src/go

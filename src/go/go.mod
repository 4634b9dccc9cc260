module example.org/libmdist/src/go

go 1.19

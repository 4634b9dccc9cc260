module libmdist

go 1.19

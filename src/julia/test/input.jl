# SPDX-License-Identifier: Apache-2.0

"All elements, each as a vector or number; `close`s their values."
contents(dataset) = [length(element) == 1 ? collect(element[1][1]) : map(value -> collect(value[1]), element) for element in dataset]
numbers(dataset) = [Int(element[1][1][]) for element in dataset]
texts(dataset) = [String(collect(element[1][1])) for element in dataset]

@testset "options decide who gets which rows" begin
    strategy = strategy_of(2)
    batches(count) = Mdist.batch(Dataset(0:(count - 1)), 4)
    function parts(dataset)
        iterator = Mdist.Iterator(dataset)
        found = []
        while (element = Mdist.next!(iterator)) !== nothing
            push!(found, (collect(element[1][1]), collect(element[1][2]), Mdist.row_counts(iterator)))
        end
        return found
    end
    @test parts(Mdist.distribute(strategy, batches(8); weights = [1.0, 3.0])) == [([0], [1, 2, 3], [1, 3]), ([4], [5, 6, 7], [1, 3])]
    @test parts(Mdist.distribute(strategy, batches(7); uneven = Mdist.UNEVEN_SPREAD))[2] == ([4, 5], [6], [2, 1])
    @test parts(Mdist.distribute(strategy, batches(7); uneven = Mdist.UNEVEN_DROP))[2] == ([4], [5], [1, 1])
    @test parts(Mdist.distribute(strategy, batches(12); split = false, whole_steps = true)) == [([0, 1, 2, 3], [4, 5, 6, 7], [4, 4])]
    @test parts(Mdist.distribute(strategy, batches(4); fetch_to_device = true, buffer_size = 2)) == [([0, 1], [2, 3], [2, 2])]
    refused = thrown(() -> Mdist.distribute(strategy, batches(8); weights = [1.0, 3.0], split = false))
    @test refused isa MdistError && refused.status == Mdist.ERR_INVALID_ARGUMENT
    @test occursin("data", lowercase(Mdist.explain(Mdist.distribute(strategy, batches(8); policy = Mdist.SHARD_DATA))))
    @test thrown(() -> Mdist.row_counts(Mdist.Iterator(batches(8)))) isa ArgumentError
end

@testset "a position is saved and restored" begin
    dataset = Mdist.shuffle(Dataset(0:8), 9; seed = 3)
    iterator = Mdist.Iterator(dataset)
    Mdist.next!(iterator)
    text = position(iterator)
    next = Mdist.next!(iterator)[1][1][]
    again = Mdist.Iterator(dataset)
    Mdist.restore!(again, text)
    @test Mdist.next!(again)[1][1][] == next
    @test thrown(() -> Mdist.restore!(again, "nonsense")).reason == "corrupt"

    strategy = strategy_of(1)
    mktempdir() do folder
        one, other = Mdist.Iterator(Dataset(0:5)), Mdist.Iterator(Dataset(0:5))
        saved, restored = Checkpoint(strategy, folder), Checkpoint(strategy, folder)
        Mdist.add!(saved, one, "input")
        Mdist.add!(restored, other, "input")
        Mdist.next!(one)
        Mdist.save(saved, 1)
        @test Mdist.restore!(restored) == 1
        @test Mdist.next!(other)[1][1][] == 1
        Mdist.clear(saved)
        @test Mdist.latest_checkpoint(folder) === nothing
    end
end

@testset "datasets are chosen, joined and cut" begin
    five = Dataset(0:4)
    @test numbers(Dataset(5:-3:-2)) == collect(5:-3:-2)
    @test numbers(Mdist.take(five, 2)) == [0, 1]
    @test numbers(Mdist.skip(five, 3)) == [3, 4]
    @test numbers(Mdist.concatenate(five, Dataset(7:8))) == [0, 1, 2, 3, 4, 7, 8]
    @test numbers(Mdist.cache(five)) == 0:4
    @test [Int(element[2][1][]) for element in zip(five, Dataset(10:12))] == 10:12
    @test numbers(Mdist.unbatch(Mdist.batch(five, 2))) == 0:4
    @test contents(Mdist.rebatch(Mdist.batch(five, 4), 1, 2)) == [[0], [1, 2], [3], [4]]
    mismatch = thrown(() -> Mdist.concatenate(five, Dataset(Float32[1, 2])))
    @test mismatch isa MdistError && mismatch.status == Mdist.ERR_MISMATCH
end

@testset "files are matched, read and written" begin
    mktempdir() do folder
        write(joinpath(folder, "part-0.txt"), "a\nbc\r\n")
        write(joinpath(folder, "part-1.txt"), "d")
        names = Mdist.match_files(joinpath(folder, "part-?.txt"))
        @test texts(names) == [joinpath(folder, "part-$i.txt") for i in 0:1]
        @test texts(Mdist.text_lines(names)) == ["a", "bc", "d"]
        @test texts(Mdist.text_lines(names; cycle_length = 2)) == ["a", "d", "bc"]
        padded = contents(Mdist.padded_batch(Mdist.text_lines(names), 3))[1]
        @test padded == UInt8['a' 'b' 'd'; 0 'c' 0]
        write(joinpath(folder, "fixed"), "HHabcdefF")
        fixed = Mdist.fixed_records(Mdist.files(joinpath(folder, "fixed")), 3; header_bytes = 2, footer_bytes = 1)
        @test texts(fixed) == ["abc", "def"]
        nothing_there = thrown(() -> Mdist.match_files(joinpath(folder, "none-*")))
        @test nothing_there isa MdistError && nothing_there.status == Mdist.ERR_NOT_FOUND
        @test thrown(() -> Mdist.files("a\0b")) isa ArgumentError

        path = joinpath(folder, "records")
        for compression in (Mdist.COMPRESSION_NONE, Mdist.COMPRESSION_GZIP)
            Mdist.write_records(path; compression = compression) do writer
                write(writer, "first")
                write(writer, UInt8[])
                write(writer, UInt8[1, 2])
            end
            records = Mdist.tfrecords(Mdist.files(path); compression = compression)
            @test contents(records) == [UInt8.(collect("first")), UInt8[], UInt8[1, 2]]
        end
        failure = thrown(() -> Mdist.write_records(_ -> error("no more"), joinpath(folder, "unfinished")))
        @test failure isa ErrorException && !ispath(joinpath(folder, "unfinished"))

        Mdist.write_records(writer -> foreach(text -> write(writer, text), ("first", "second")), path)
        bytes = read(path)
        bytes[13] ⊻= 1 # in the first record
        write(path, bytes)
        @test thrown(() -> contents(Mdist.tfrecords(Mdist.files(path)))).reason == "corrupt"
        iterator = Mdist.Iterator(Mdist.tfrecords(Mdist.files(path); on_corrupt = Mdist.ON_CORRUPT_SKIP))
        @test String(collect(Mdist.next!(iterator)[1][1])) == "second"
        @test Mdist.skipped(iterator) == 1
    end
end

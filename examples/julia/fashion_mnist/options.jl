# SPDX-License-Identifier: Apache-2.0
# Options: reads and checks the command line.

const HELP = """
Trains a small network on Fashion-MNIST with several mirrored replicas.

  --replicas N     replicas on this machine's CPU (default 2)
  --epochs N       times over the training images (default 10)
  --batch N        images per step, over all replicas (default 128)
  --limit-steps N  stop training after N steps
  --data DIR       folder of the four IDX files
                   (default /usr/share/datasets/fashion-mnist)
  --help           this text
"""

Base.@kwdef mutable struct Options
    replicas::Int = 2
    epochs::Int = 10
    batch::Int = 128
    limit_steps::Int = 0 # 0: no limit
    data::String = "/usr/share/datasets/fashion-mnist"
end

const LIMITS = Dict("replicas" => 256, "epochs" => 10_000, "batch" => 1_000_000, "limit-steps" => 1_000_000_000)

"Prints on stderr what is wrong with the command line, and ends the program."
function refuse(name, right)
    println(stderr, "fashion_mnist: $name: $right; --help lists the options")
    exit(2)
end

function set!(options::Options, name::String, value::String)
    if name == "data"
        options.data = value
        return nothing
    end
    limit = get(LIMITS, name, 0)
    limit > 0 || refuse("--$name", "no such option")
    number = something(tryparse(Int, value), 0)
    1 <= number <= limit || refuse("--$name $value", "must be a whole number from 1 to $limit")
    setproperty!(options, Symbol(replace(name, "-" => "_")), number)
    return nothing
end

function parse_options(arguments::Vector{String})
    options = Options()
    at = 1
    while at <= length(arguments)
        argument = arguments[at]
        if argument == "--help"
            print(HELP)
            exit(0)
        end
        startswith(argument, "--") || refuse(argument, "options start with --")
        name, equals = argument[3:end], findfirst('=', argument)
        if equals !== nothing
            name, value = argument[3:(equals - 1)], argument[(equals + 1):end]
        else
            at < length(arguments) || refuse(argument, "needs a value")
            at += 1
            value = arguments[at]
        end
        set!(options, name, value)
        at += 1
    end
    return options
end

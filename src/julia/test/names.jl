# SPDX-License-Identifier: Apache-2.0
# What `using Mdist` brings must not clash with what else a training uses. Flux may not be here, so its names are listed.
import Distributed, LinearAlgebra, Random, Statistics

@testset "the module exports nothing that others export" begin
    exported = filter(name -> name != :Mdist, names(Mdist))
    for other in (Base, Distributed, LinearAlgebra, Random, Statistics, Test)
        @test isempty(intersect(exported, names(other)))
    end
    of_flux = [:Chain, :DataLoader, :Dense, :Embedding, :MultiHeadAttention, :Optimiser, :RNN, :State, :adjust!, :batch,
        :batchseq, :chunk, :cpu, :create_bias, :destructure, :dropout, :f32, :fmap, :freeze!, :gpu, :gradient, :group_counts,
        :kfolds, :loadmodel!, :logsoftmax, :mse, :onehot, :onehotbatch, :params, :pullback, :relu, :setup, :shuffleobs,
        :softmax, :splitobs, :stack, :state, :test, :testmode!, :train!, :trainable, :trainmode!, :unbatch, :unsqueeze,
        :unstack, :update!, :withgradient]
    of_others = [:abort, :distribute, :gather, :load, :prefetch, :rank, :save, :shard, :tensor, :test, :worker]
    @test isempty(intersect(exported, of_flux)) && isempty(intersect(exported, of_others))
    @test all(name -> isdefined(Mdist, name), exported)
end

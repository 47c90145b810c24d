# Memory that code names, in sizes that change: Mooncake, which writes its tangents of it without a look at bounds, has them in these sizes.

module SizesTests

using MutationBridge: MutationBridge, Disproved, NoEngine, Outside, by_memory, changes_sizes, looks_at_memory, pullback_by, sizes_of
using DifferentiationInterface, Test

mutable struct Cache
    work::Vector{Float64}
end

const LIST = Float64[]
const SCRATCH = zeros(3)
const TABLE = zeros(3, 3)
const MEMO = Dict{Vector{Float64},Vector{Float64}}()
const CACHE = Cache(zeros(3))
const NESTED = [zeros(3)]
const HELD = Ref(zeros(3))
const COUNT = Ref(0.0)
const DATA = [1.0]

extend!(list, v) = push!(list, v)

@testset "whether a call may change sizes" begin
    changes(f) = changes_sizes(Outside(f))
    @test changes(x -> (push!(LIST, x[1]); sum(x)))
    @test changes(x -> (extend!(LIST, x[1]); sum(x)))
    @test changes(x -> (resize!(SCRATCH, length(x)); sum(x)))
    @test changes(x -> (copy!(SCRATCH, x); sum(x)))
    @test changes(x -> (MEMO[x] = x; sum(x)))
    @test changes(x -> (CACHE.work = x; sum(x)))
    @test changes(x -> (NESTED[1] = x; sum(x)))
    @test changes(x -> (HELD[] = x; sum(x)))
    @test !changes(x -> (SCRATCH .= x; SCRATCH[1] = 2; fill!(SCRATCH, 1); sum(SCRATCH)))
    @test !changes(x -> (push!(TABLE, x[1]); sum(x)))       # there is no such method
    @test !changes(x -> (COUNT[] += 1; sum(x)))
    @test !changes(x -> sum(LIST) * sum(x))
    @test !changes(x -> (y = Float64[]; push!(y, x[1]); sum(y)))
end

@testset "a hash of the sizes" begin
    before = sizes_of(NESTED)
    NESTED[1][2] = 5
    @test sizes_of(NESTED) == before
    push!(NESTED[1], 1)
    @test sizes_of(NESTED) != before
    pop!(NESTED[1])
    @test sizes_of(NESTED) == before
    d = Dict(:a => 1.0)
    @test sizes_of(d) != sizes_of(Dict(:b => 1.0)) && sizes_of(d) == sizes_of(Dict(:a => 2.0))
end

const HAS_MOONCAKE = Base.find_package("Mooncake") !== nothing
HAS_MOONCAKE && @eval using Mooncake

# As a loss that keeps its history. The write into `y` is what Zygote refuses.
function listed(x)
    y = copy(x)
    y[2] *= y[1]
    push!(LIST, sum(y))
    return sum(abs2, y)
end
by_hand(x) = [2x[1] + 2x[1] * x[2]^2, 2x[1]^2 * x[2], 2x[3]]

function listed_twice(x)
    push!(LIST, x[1])
    return listed(x)
end

function weighted(x)
    y = similar(x)
    for i in eachindex(x)
        y[i] = sum(DATA) * x[i]
    end
    return sum(abs2, y)
end

if HAS_MOONCAKE
    X3 = [1.0, 2.0, 3.0]
    extension = Base.get_extension(MutationBridge, :MutationBridgeMooncakeExt)
    sizes(rule, list) = unique((length(list), length(Mooncake.tangent(x))) for x in extension.constants(rule) if Mooncake.primal(x) === list)

    @testset "a list that each call makes longer, by $ad" for ad in (:mooncake, :auto)
        empty!(LIST)
        for k in 1:40
            x = X3 .* k
            value, back = pullback_by(ad, listed, x)
            @test only(back(1.0)) ≈ by_hand(x)
            @test length(LIST) == k && last(LIST) == x[1] + x[1] * x[2] + x[3]
        end
        append!(LIST, zeros(1000))
        @test only(last(pullback_by(ad, listed, X3))(1.0)) ≈ by_hand(X3)
        resize!(LIST, 3)
        @test only(last(pullback_by(ad, listed, X3))(1.0)) ≈ by_hand(X3)
    end

    @testset "each step is looked at where a call may change sizes, and only there" begin
        looked_at(f) = by_memory(looks_at_memory, AutoMooncake(; config=nothing), Outside(f))
        @test looked_at(listed) && !looked_at(weighted) && !looked_at(sum)
    end

    @testset "Mooncake is not let loose without the extension" begin
        without(f) = invoke(by_memory, Tuple{Any,Any,Outside}, _ -> 1, AutoMooncake(; config=nothing), Outside(f))
        @test_throws "Pkg.resolve()" without(weighted)
        @test without(x -> sum(abs2, x)) == 1
    end

    @testset "rules that were made before have the sizes of now" begin
        resize!(LIST, 5)
        rule = Mooncake.build_rrule(listed, X3)
        Mooncake.value_and_gradient!!(rule, listed, X3)
        append!(LIST, zeros(1000))
        @test sizes(rule, LIST) == [(1005, 5)]      # what Mooncake has
        foreach(extension.fit_constant!, extension.constants(rule))
        @test sizes(rule, LIST) == [(1005, 1005)]

        in_rule() = by_memory(_ -> sizes(Mooncake.build_rrule(weighted, X3), DATA), AutoMooncake(; config=nothing), Outside(weighted))
        @test in_rule() == [(1, 1)]
        append!(DATA, ones(1000))
        @test sizes(Mooncake.build_rrule(weighted, X3), DATA) == [(1001, 1)]
        @test in_rule() == [(1001, 1001)]
        @test only(last(pullback_by(:auto, weighted, X3))(1.0)) ≈ 2 * 1001^2 .* X3
    end

    @testset "where Mooncake loses track, that is said" begin
        empty!(LIST)
        value, back = pullback_by(:mooncake, listed_twice, X3)
        @test_throws "may change the size of memory that outlives the call ($(@__MODULE__).LIST)" back(1.0)
        @test_throws Disproved back(1.0)
        @test length(LIST) == 2 && value == listed(X3)
        value, back = pullback_by(:mooncake, (f, x) -> f(x), listed_twice, X3)
        @test_throws "may change the size of memory" back(1.0)
        value, back = pullback_by(:auto, listed_twice, X3)
        @test_throws NoEngine back(1.0)
    end
end

end

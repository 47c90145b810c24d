# Prints what Zygote answers for the programs of surprise_programs.py: a key, a tabulator and the gradient, line by line.
#
#     julia --project=. examples/surprises.jl

using LinearAlgebra: Symmetric, eigvals, norm
import ChainRulesCore, Zygote

function overwritten(x)
    y = exp.(x)
    z = sum(y .* y)
    y[:] .= 0.0
    z + sum(y)
end

"Sets an array to 0 in place, with the rule that one would write for it: ChainRules cannot tell before from after."
zeroed!(y) = fill!(y, 0.0)
ChainRulesCore.rrule(::typeof(zeroed!), y::Array) = zeroed!(y), _ -> (ChainRulesCore.NoTangent(), ChainRulesCore.ZeroTangent())
function behind(x)
    y = exp.(x)
    z = sum(y .* y)
    zeroed!(y)
    z + sum(y)
end

function copies(x)
    b = Zygote.Buffer(zero(x))
    b[1] = x[1]
    b[2] = x[2]
    sum(copy(b)) + sum(abs2, copy(b))
end

function twice(x)
    b = Zygote.bufferfrom(zero(x))
    b[[1, 1]] = x
    sum(copy(b))
end

const programs = [
    "where" => (x -> sum(ifelse.(x .> 0, sqrt.(x), 0.0)), [-1.0, 4.0]),
    "gather" => (x -> sqrt.(x)[2], [0.0, 4.0]),
    "norm" => (norm, [0.0, 0.0]),
    "outside" => (x -> sum(abs2, x[[1, 6]]), [1.0, 2.0, 3.0, 4.0, 5.0]),
    "ties" => (maximum, [2.0, 2.0, 1.0]),
    "abs" => (x -> sum(abs.(x)), [0.0]),
    "relu" => (x -> sum(max.(x, 0.0)), [0.0]),
    "overwritten" => (overwritten, [0.0, 1.0]),
    "behind" => (behind, [0.0, 1.0]),
    "copies" => (copies, [1.0, 2.0]),
    "twice" => (twice, [1.0, 2.0]),
    "complex" => (z -> sum(real.(z .* z)), [1.0 + 2.0im]),
    "power" => (x -> sum(x .^ [0.0, 2.0]), [0.0, 0.0]),
    "coin" => (p -> sum(rand(2) .< p), 0.5),
    "cancelling" => (x -> sum((1 .- cos.(x)) ./ x .^ 2), [1f-2]),
    "triangle" => (x -> eigvals(Symmetric(x, :L))[1], [1.0 9.0; 2.0 3.0]),
]

"Numbers as NumPy's literals, rows of a matrix in brackets of their own."
written(g::Number) = replace(string(g), "im" => "j", " + " => "+", " - " => "-", "NaN" => "nan", "Inf" => "inf", "f-" => "e-", "f" => "")
written(g::AbstractVector) = "[" * join(written.(g), ", ") * "]"
written(g::AbstractMatrix) = "[" * join((written(row) for row in eachrow(g)), ", ") * "]"
written(::Nothing) = "None"

println("version\tZygote $(pkgversion(Zygote)), Julia $VERSION")
for (key, (program, x)) in programs
    answer = try
        written(Zygote.gradient(program, x)[1])
    catch error
        # The position of a literal belongs to the run, not to the answer.
        "error: " * first(split(sprint(showerror, error), '\n'))
    end
    println(key, '\t', answer)
end

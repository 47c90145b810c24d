# The same call at harder arguments: zeros, equal elements, empty arrays, single precision, complex numbers, views.

struct Variant
    code::Symbol
    name::String
    change::Function
end

const VARIANTS = (
    Variant(:wrong_at_zero, "zeros", x -> x isa Union{Number,StridedArray} ? zero(x) : x),
    Variant(:wrong_at_zero, "a zero in front", x -> x isa StridedArray && !isempty(x) ? zero_in_front(x) : x),
    Variant(:wrong_at_kink, "equal elements", x -> x isa StridedArray ? fill!(copy(x), 0.5) : x),
    Variant(:wrong_empty, "empty arrays", x -> x isa Vector ? similar(x, 0) : x isa Matrix ? similar(x, 0, 0) : x),
    Variant(:wrong_complex, "complex arguments", x -> complex_like(x)),
    Variant(:wrong_in_view, "views", x -> x isa Array && ndims(x) > 0 ? inner_view(x) : x),
)

zero_in_front(x) = (y = copy(x); y[begin] = 0; y)
complex_like(x::Real) = complex(x, x / 3)
complex_like(x::Array{<:AbstractFloat}) = complex.(x, reverse(x; dims = 1) ./ 3)
complex_like(x) = x

"""The inside of a larger array: what lies beside it belongs to others."""
function inner_view(x)
    v = view(zeros(eltype(x), size(x) .+ 2), map(n -> 2:n+1, size(x))...)
    v .= x
    return v
end
single(x::AbstractFloat) = Float32(x)
single(x::Complex) = ComplexF32(x)
single(x::AbstractArray) = map(single, x)

"""Prove the pull at every variant that the plain function accepts; one that it refuses is noted."""
function prove_variants!(report, call::Call, rng, tolerance)
    for variant in VARIANTS
        changed = with_args(call, Any[is_active(x) ? variant.change(x) : x for x in call.args])
        (all(map(same_bits, changed.args, call.args)) && variant.name != "views") && continue
        accepted!(report, changed, variant.name) || continue
        try
            prove_pull!(report, changed, rng, tolerance; code = variant.code, at = " with " * variant.name)
        catch error
            failed!(report, variant.code, "$changed with $(variant.name): the pull raises $(first_line(error))",
                "the function accepts these arguments, so its pull must")
        end
    end
    prove_single!(report, call, rng)
    return nothing
end

function accepted!(report, call::Call, name)
    after = try
        run_plain(call)
    catch error
        noted!(report, "$(nameof(call.f)) refuses $name ($(nameof(typeof(error))))")
        return false
    end
    finite = all(k -> all(isfinite, after[k]), outputs_of(call))
    finite || noted!(report, "$(nameof(call.f)) has no finite value at $name")
    return finite
end

"""In single precision the pull gives what it gives in double precision, as Float32."""
function prove_single!(report, call::Call, rng)
    all(k -> call.args[k] isa Union{Number,StridedArray} && real(eltype(call.args[k])) === Float64, actives(call)) || return nothing
    changed = with_args(call, Any[is_active(x) ? single(x) : x for x in call.args])
    accepted!(report, changed, "Float32 arguments") || return nothing
    prove_pull_returns!(report, changed, rng) || return nothing
    cts = seeds(rng, changed)
    narrow = pulled(changed, cts)
    wide = pulled(call, map(ct -> ct === nothing ? nothing : widened_like(ct), cts))
    for k in actives(call)
        (narrow[k] isa Union{Number,AbstractArray} && wide[k] isa Union{Number,AbstractArray}) || continue
        gap = maximum(abs, narrow[k] .- wide[k]; init = 0.0) / max(1, maximum(abs, wide[k]; init = 0.0))
        gap <= 5e-3 || return failed!(report, :wrong_float32, "$changed: the cotangent of $(name_of(call, k)) in Float32 is off by $(short(gap))",
            "look for constants or steps that assume double precision")
    end
    passed!(report, "Float32")
    return nothing
end

widened_like(x::Number) = x isa Complex ? ComplexF64(x) : Float64(x)
widened_like(x::AbstractArray) = map(widened_like, x)

# Base.Fix1, Base.Fix2 and the functions that `get` and `get!` call when a key is missing.

for (T, call) in ((Base.Fix1, :((f, x, y) -> f(x, y))), (Base.Fix2, :((f, x, y) -> f(y, x))))
    @eval function Zygote._pullback(cx::Context, g::$T, y)
        start = cx.position
        z, back = differentiated(cx, $call, g.f, g.x, y)
        function run(Δ)
            cotangents = back(Δ)
            cotangents === nothing ? nothing : ((f=cotangents[2], x=cotangents[3]), cotangents[4])
        end
        z, Enclosing(run, cx.position != start)
    end
end

function Zygote._pullback(cx::Context, ::typeof(get), default::Base.Callable, d::AbstractDict, k)
    start = cx.position
    y, back = differentiated(cx, get_or_call, default, d, k)
    y, Enclosing(Δ -> back(Δ), cx.position != start)
end

get_or_call(default, d, k) = haskey(d, k) ? d[k] : default()

Zygote._pullback(cx::Context, ::typeof(get!), default::Base.Callable, d::AbstractDict, k) =
    differentiated(cx, get_or_store!, default, d, k)
Zygote._pullback(cx::Context, ::typeof(get!), d::AbstractDict, k, default) =
    differentiated(cx, get_or_store!, () -> default, d, k)

function get_or_store!(default, d, k)
    haskey(d, k) && return d[k]
    d[k] = default()
end

# Functions that Zygote runs without differentiating them. If what they call may touch a Buffer they run as loops instead.

any_in_loop(itr) = any_in_loop(identity, itr)
function any_in_loop(f, itr)
    unknown = false
    for x in itr
        found = f(x)
        if found === missing
            unknown = true
        elseif found
            return true
        end
    end
    unknown ? missing : false
end

all_in_loop(itr) = all_in_loop(identity, itr)
function all_in_loop(f, itr)
    unknown = false
    for x in itr
        holds = f(x)
        if holds === missing
            unknown = true
        elseif !holds
            return false
        end
    end
    unknown ? missing : true
end

count_in_loop(itr) = count_in_loop(identity, itr)
function count_in_loop(f, itr)
    n = 0
    for x in itr
        f(x) && (n += 1)
    end
    n
end

findfirst_in_loop(f, xs) = find_in_loop(f, xs, keys(xs))
findlast_in_loop(f, xs) = find_in_loop(f, xs, Iterators.reverse(keys(xs)))
findnext_in_loop(f, xs, i) = find_in_loop(f, xs, i:lastindex(xs))
findprev_in_loop(f, xs, i) = find_in_loop(f, xs, i:-1:firstindex(xs))
function find_in_loop(f, xs, places)
    for k in places
        f(xs[k]) && return k
    end
    nothing
end

# A list that grows one place at a time without a write that Zygote would see.
note_place(found, k) = (push!(found, k); nothing)
ChainRulesCore.@non_differentiable note_place(::Any, ::Any)
no_places(xs) = keytype(xs)[]
ChainRulesCore.@non_differentiable no_places(::Any)

function findall_in_loop(f, xs)
    found = no_places(xs)
    for k in keys(xs)
        f(xs[k]) && note_place(found, k)
    end
    found
end
filter_in_loop(f, xs) = xs[findall_in_loop(f, xs)]

for (f, loop) in ((:any, :any_in_loop), (:all, :all_in_loop), (:count, :count_in_loop), (:findfirst, :findfirst_in_loop),
                  (:findlast, :findlast_in_loop), (:findnext, :findnext_in_loop), (:findprev, :findprev_in_loop),
                  (:findall, :findall_in_loop), (:filter, :filter_in_loop))
    @eval @inline function Zygote.chain_rrule(config::ZygoteRuleConfig{<:Context}, ::typeof($f), args...)
        may_reach_buffer(args...) && return differentiated(config.context, $loop, args...)
        y, back = rrule(config, $f, args...)
        y, Prompt(config.context, Zygote.ZBack(back))
    end
end

# A collection of another kind than an array has no rule.
function Zygote._pullback(cx::Context, ::typeof(filter), f, xs::Tuple)
    differentiated(cx, (f, xs) -> Tuple(filter(f, collect(xs))), f, xs)
end

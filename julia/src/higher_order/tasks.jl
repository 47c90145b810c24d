# Tasks under our context stay on its thread, and each is pulled where its end was waited for.

"""
    TaskRecord()

What the pullbacks around a task share: the pullback of its body, set when the body is done; the cotangent of its
value, which every `fetch` adds to; and the body's own cotangent, once it is pulled.
"""
mutable struct TaskRecord
    back::Any
    cotangent::Any
    pulled::Bool
    answer::Any
end
TaskRecord() = TaskRecord(nothing, nothing, false, nothing)

struct EndedTasks
    records::Vector{TaskRecord}
end

"""The records of the tasks that ended under `cx`, in the order in which they ended."""
ended_tasks(cx::Context) = get!(() -> EndedTasks(TaskRecord[]), Zygote.cache(cx), EndedTasks).records

record_of(cx::Context, t::Task) = get(Zygote.cache(cx), t, nothing)

function pull_body!(record::TaskRecord)
    (record.pulled || record.back === nothing) && return nothing
    record.answer = record.back(record.cotangent)
    record.pulled = true
    nothing
end

function Zygote._pullback(cx::Context, ::Type{Task}, f)
    record = TaskRecord()
    ended = ended_tasks(cx)
    function body()
        y, back = differentiated(cx, f)
        record.back = back
        push!(ended, record)
        y
    end
    t = Task(body)
    Zygote.cache(cx)[t] = record
    function forget_task(_)
        pull_body!(record)
        df = record.answer === nothing ? nothing : record.answer[1]
        record.cotangent, record.pulled, record.answer = nothing, false, nothing
        (nothing, df)
    end
    t, forget_task
end

"""
    waiting(cx, wait_for) -> (value, pull)

`wait_for()`, during which tasks may end; `pull()` runs their bodies' pullbacks, the last to end first.
"""
function waiting(cx, wait_for)
    ended = ended_tasks(cx)
    before = length(ended)
    y = wait_for()
    during = ended[before+1:end]
    y, () -> foreach(pull_body!, Iterators.reverse(during))
end

function Zygote._pullback(cx::Context, ::typeof(fetch), t::Task)
    y, pull = waiting(cx, () -> fetch(t))
    record = record_of(cx, t)
    function pull_fetch(Δ)
        record === nothing || (record.cotangent = accum(record.cotangent, unthunk_tangent(Δ)))
        pull()
        nothing
    end
    y, pull_fetch
end

for (f, T) in ((:wait, :Task), (:(Base._wait), :Task), (:(Base.sync_end), :Channel))
    @eval function Zygote._pullback(cx::Context, ::typeof($f), tasks::$T)
        y, pull = waiting(cx, () -> $f(tasks))
        y, _ -> pull()
    end
end
Zygote._pullback(cx::Context, ::typeof(yield)) = ((y, pull) = waiting(cx, yield); (y, _ -> pull()))
Zygote._pullback(cx::Context, ::typeof(sleep), seconds) = ((y, pull) = waiting(cx, () -> sleep(seconds)); (y, _ -> pull()))

Zygote._pullback(cx::Context, ::typeof(put!), ch::Channel, t::Task) = put!(ch, t), _ -> nothing

# `@spawn` lets its task move to other threads.
function Zygote._pullback(cx::Context, ::typeof(setproperty!), t::Task, name::Symbol, x)
    name === :sticky || setproperty!(t, name, x)
    x, _ -> nothing
end
Zygote._pullback(cx::Context, ::typeof(Threads._spawn_set_thrpool), t::Task, pool) = nothing, _ -> nothing
Zygote._pullback(cx::Context, ::typeof(Threads.threadpool), id...) = Threads.threadpool(id...), _ -> nothing

# `@threads`: the iterations of all threads, one after the other.
function run_in_turn(run_thread, static)
    for thread in 1:Threads.threadpoolsize()
        run_thread(thread)
    end
end
Zygote._pullback(cx::Context, ::typeof(Threads.threading_run), run_thread, static) =
    differentiated(cx, run_in_turn, run_thread, static)

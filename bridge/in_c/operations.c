/* Products of two arrays, and ufuncs that write into a Buffer (`+=`): what they log, entries with a `Call`. */
#include "steps.h"

/* `Call(function, rule, args, inputs)` of two operands; takes over nothing. */
static PyObject *call_of(PyObject *function, PyObject *rule, PyObject *x, PyObject *y, Operand *left, Operand *right)
{
    PyObject *call = steps_make_entry(bound.call);
    if (call == NULL)
        return NULL;
    SLOT(call, bound.call_function) = Py_NewRef(function);
    SLOT(call, bound.call_rule) = Py_NewRef(rule);
    SLOT(call, bound.call_args) = PyTuple_Pack(2, x, y);
    SLOT(call, bound.call_inputs) =
        PyTuple_Pack(2, left->active ? left->place : Py_None, right->active ? right->place : Py_None);
    SLOT(call, bound.call_kwargs) = Py_NewRef(bound.no_keywords);
    SLOT(call, bound.call_plain) = left->plain || right->plain ? Py_BuildValue("(i)", right->plain) : PyTuple_New(0);
    SLOT(call, bound.call_names) = PyTuple_New(0);
    if (SLOT(call, bound.call_args) == NULL || SLOT(call, bound.call_inputs) == NULL ||
        SLOT(call, bound.call_plain) == NULL)
        Py_CLEAR(call);
    return call;
}

/* `Shaped(value.shape, value.dtype)`: what a pull gets of an array that it does not read. */
static PyObject *looks_of(PyObject *value)
{
    PyObject *looks = steps_make_entry(bound.shaped);
    if (looks == NULL)
        return NULL;
    if (PyArray_CheckExact(value)) {
        PyArrayObject *array = (PyArrayObject *)value;
        SLOT(looks, bound.shaped_shape) = PyArray_IntTupleFromIntp(PyArray_NDIM(array), PyArray_DIMS(array));
        SLOT(looks, bound.shaped_dtype) = Py_NewRef((PyObject *)PyArray_DESCR(array));
    } else {
        SLOT(looks, bound.shaped_shape) = PyTuple_New(0);
        SLOT(looks, bound.shaped_dtype) = (PyObject *)PyArray_DescrFromScalar(value);
    }
    if (SLOT(looks, bound.shaped_shape) == NULL || SLOT(looks, bound.shaped_dtype) == NULL)
        Py_CLEAR(looks);
    return looks;
}

/* Whether a plain array that an entry keeps is one of which each operation copies what it has read. */
static bool keeps_small(PyObject *plan, int which, Operand *operand)
{
    return !operand->plain || PyTuple_GET_ITEM(plan, which) != Py_True ||
           PyArray_NBYTES((PyArrayObject *)operand->value) <= bound.small;
}

/* The same of both operands. */
bool steps_keeps_small(PyObject *plan, Operand *x, Operand *y)
{
    return keeps_small(plan, 3, x) && keeps_small(plan, 4, y);
}

/* What a pull gets of an operand that it reads: tracked memory is put back before, a plain array may change. */
static PyObject *as_read(Operand *operand)
{
    return operand->plain ? PyArray_NewCopy((PyArrayObject *)operand->value, NPY_CORDER) : Py_NewRef(operand->value);
}

/* What an entry keeps of a value that its pull does not read: pulls of ufuncs are given nothing. */
static PyObject *unread(PyObject *plan, PyObject *value)
{
    return SLOT(PyTuple_GET_ITEM(plan, 0), bound.broadcasts) == Py_True ? Py_NewRef(Py_None) : looks_of(value);
}

/* The entry of an operation of two operands that bore the root `out`. */
PyObject *steps_operation(PyObject *function, PyObject *plan, Operand *x, Operand *y, PyObject *value, PyObject *out,
                          PyObject *position)
{
    PyObject *call = NULL, *entry = NULL;
    PyObject *kept_x = PyTuple_GET_ITEM(plan, 3) == Py_True ? as_read(x) : unread(plan, x->value);
    PyObject *kept_y = PyTuple_GET_ITEM(plan, 4) == Py_True ? as_read(y) : unread(plan, y->value);
    PyObject *output = PyTuple_GET_ITEM(plan, 2) == Py_True ? Py_NewRef(value) : unread(plan, value);
    if (kept_x != NULL && kept_y != NULL && output != NULL)
        call = call_of(function, PyTuple_GET_ITEM(plan, 0), kept_x, kept_y, x, y);
    entry = call == NULL ? NULL : steps_make_entry(bound.operation);
    if (entry != NULL) {
        SLOT(entry, bound.out) = Py_NewRef(out);
        SLOT(entry, bound.position) = Py_NewRef(position);
        SLOT(entry, bound.call_of_entry) = Py_NewRef(call);
        SLOT(entry, bound.output) = Py_NewRef(output);
        SLOT(entry, bound.wanted) = Py_NewRef(PyTuple_GET_ITEM(plan, 1));
    }
    Py_XDECREF(kept_x);
    Py_XDECREF(kept_y);
    Py_XDECREF(output);
    Py_XDECREF(call);
    return entry;
}

/* Whether a result is an operand, or what that is a view of: then it is no new memory. */
static bool is_memory_of(PyObject *value, PyObject *operand)
{
    return value == operand || (PyArray_CheckExact(operand) && PyArray_BASE((PyArrayObject *)operand) == value);
}

static bool is_array(PyObject *thing, Operand *operand)
{
    return steps_operand(thing, operand) && (operand->plain || Py_IS_TYPE(thing, bound.buffer));
}

/* `dispatch._of_buffers` of a product: of two Buffers of one context, or one and a plain array; else NOT_HERE. */
PyObject *steps_product(PyObject *function, Kind kind, PyObject *left, PyObject *right)
{
    Operand x, y;
    if (!is_array(left, &x) || !is_array(right, &y))
        return NOT_HERE;
    PyObject *context = steps_context_of_two(&x, &y);
    int active = x.active + 2 * y.active;
    PyObject *plan = active && context != NULL ? steps_plan(function, 4 + active) : NULL;
    if (plan == NULL || PyDict_Contains(bound.mutating, function) || !steps_keeps_small(plan, &x, &y))
        return NOT_HERE;
    PyObject *position = steps_position();
    if (position == NULL || position == NOT_HERE)
        return position;
    Py_INCREF(plan);
    PyObject *tracked = NULL, *entry = NULL;
    PyObject *value = kind == MATMUL ? PyNumber_MatrixMultiply(x.value, y.value)
                                     : PyObject_CallFunctionObjArgs(function, x.value, y.value, NULL);
    if (value == NULL)
        goto done;
    tracked = is_memory_of(value, x.value) || is_memory_of(value, y.value) ? NOT_HERE : steps_fresh(context, value);
    if (tracked == NULL || tracked == NOT_HERE)
        goto done;
    entry = steps_operation(function, plan, &x, &y, value, SLOT(tracked, bound.place), position);
    if (entry == NULL || steps_log(context, entry) < 0)
        Py_CLEAR(tracked);
done:
    Py_XDECREF(value);
    Py_XDECREF(entry);
    Py_DECREF(plan);
    Py_DECREF(position);
    return tracked;
}

static PyObject *in_place(Kind kind, PyObject *x, PyObject *y)
{
    switch (kind) {
    case IADD:
        return PyNumber_InPlaceAdd(x, y);
    case ISUBTRACT:
        return PyNumber_InPlaceSubtract(x, y);
    case IMULTIPLY:
        return PyNumber_InPlaceMultiply(x, y);
    default:
        return PyNumber_InPlaceTrueDivide(x, y);
    }
}

/* Whether a ufunc adds its second operand to the first, or takes it away: then the cotangent of the first stays. */
static bool adds(PyObject *rule)
{
    PyObject *found = PyObject_GetAttr(SLOT(rule, bound.facts), names.adds);
    bool does = found != NULL && PyObject_IsTrue(found) == 1;
    Py_XDECREF(found);
    PyErr_Clear();
    return does;
}

/* `Context.update` without a mask: an augmented assignment into a Buffer; NOT_HERE for all else. */
PyObject *steps_update(PyObject *ufunc, Kind kind, PyObject *target, PyObject *other)
{
    Operand x, y;
    if (!steps_operand(target, &x) || !steps_operand(other, &y) || steps_context_of_two(&x, &y) == NULL)
        return NOT_HERE;
    PyObject *array = x.value, *root = steps_root(x.place), *context = x.context;
    if (steps_is_borrowed(root) || !PyArray_CheckExact(array) || !PyArray_ISFLOAT((PyArrayObject *)array) ||
        !PyArray_ISWRITEABLE((PyArrayObject *)array))
        return NOT_HERE;
    int active = x.active + 2 * y.active;
    PyObject *plan = active ? steps_plan(ufunc, active) : NULL;
    if (plan == NULL || !steps_keeps_small(plan, &x, &y) || (y.place != NULL && PyFloat_CheckExact(y.value)))
        return NOT_HERE;
    PyObject *position = steps_position();
    if (position == NULL || position == NOT_HERE)
        return position;
    Py_INCREF(plan);
    PyObject *rule = PyTuple_GET_ITEM(plan, 0), *found = NULL, *call = NULL, *entry = NULL, *written = NULL;
    PyObject *kept = NULL;
    PyObject *saved =
        steps_writable(context, target, root) < 0 ? NULL : PyArray_NewCopy((PyArrayObject *)array, NPY_CORDER);
    if (saved == NULL)
        goto done;
    kept = PyTuple_GET_ITEM(plan, 4) == Py_True ? as_read(&y) : Py_NewRef(Py_None);
    if (kept != NULL)
        call = call_of(ufunc, rule, PyTuple_GET_ITEM(plan, 3) == Py_True ? array : Py_None, kept, &x, &y);
    entry = call == NULL ? NULL : steps_make_entry(bound.update);
    if (entry == NULL)
        goto done;
    bool keeps = x.active && adds(rule);
    SLOT(entry, bound.out) = Py_NewRef(x.place);
    SLOT(entry, bound.position) = Py_NewRef(position);
    SLOT(entry, bound.call_of_entry) = Py_NewRef(call);
    SLOT(entry, bound.output) = Py_NewRef(PyTuple_GET_ITEM(plan, 2) == Py_True ? Py_True : Py_None);
    SLOT(entry, bound.wanted) = Py_NewRef(PyTuple_GET_ITEM(plan, 1));
    SLOT(entry, bound.update_array) = Py_NewRef(array);
    SLOT(entry, bound.update_saved) = Py_NewRef(saved);
    SLOT(entry, bound.mask) = Py_NewRef(Py_None);
    SLOT(entry, bound.update_activates) = Py_NewRef(SLOT(root, bound.active) == Py_True ? Py_False : Py_True);
    SLOT(entry, bound.keeps) = Py_NewRef(keeps ? Py_True : Py_False);
    written = in_place(kind, array, y.value);
    if (written != array) {
        /* What Python says of it, it says of memory that was not written yet. */
        PyErr_Clear();
        if (PyArray_CopyInto((PyArrayObject *)array, (PyArrayObject *)saved) == 0)
            found = NOT_HERE;
        goto done;
    }
    if (steps_log(context, entry) < 0)
        goto done;
    PyObject *before = SLOT(root, bound.active);
    SLOT(root, bound.active) = Py_NewRef(Py_True);
    Py_DECREF(before);
    found = Py_NewRef(target);
done:
    Py_XDECREF(written);
    Py_XDECREF(saved);
    Py_XDECREF(kept);
    Py_XDECREF(call);
    Py_XDECREF(entry);
    Py_DECREF(plan);
    Py_DECREF(position);
    return found;
}

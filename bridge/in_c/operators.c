/* Ufuncs of one operand and of two: `dispatch.operate_one`, `dispatch.operate_pair`, and what these log. */
#include "steps.h"

/* Whether an operand is of the common kind: a Buffer, a number, or a plain number or array; nothing complex. */
bool steps_operand(PyObject *thing, Operand *operand)
{
    operand->place = operand->context = NULL;
    operand->active = operand->plain = false;
    bool weak = Py_IS_TYPE(thing, bound.weak_scalar);
    if (!weak && !Py_IS_TYPE(thing, bound.buffer) && !Py_IS_TYPE(thing, bound.scalar)) {
        operand->value = thing;
        if (steps_is_number(thing))
            return true;
        return operand->plain = steps_is_plain_array(thing);
    }
    operand->value = SLOT(thing, bound.value);
    operand->place = SLOT(thing, bound.place);
    operand->context = steps_context_of(operand->place);
    PyObject *active = steps_active(operand->place);
    operand->active = active == Py_True;
    if (operand->context == NULL || active == NULL)
        return false;
    if (!PyArray_CheckExact(operand->value))
        return weak ? PyFloat_CheckExact(operand->value) : Py_IS_TYPE(operand->value, &PyDoubleArrType_Type);
    int type = PyArray_TYPE((PyArrayObject *)operand->value);
    return PyTypeNum_ISFLOAT(type) || PyTypeNum_ISINTEGER(type);
}

/* The context of two operands, borrowed, if it takes the short ways; NULL if they are of two, or of none, or if Python
 * must look at a plain one. */
PyObject *steps_context_of_two(Operand *x, Operand *y)
{
    PyObject *context = x->context != NULL ? x->context : y->context;
    if (context == NULL || (x->context != NULL && y->context != NULL && x->context != y->context) ||
        !steps_is_lean(context))
        return NULL;
    if (steps_is_handed_out(context, x->place) || steps_is_handed_out(context, y->place))
        return NULL;
    Operand *plain = x->plain ? x : y;
    return !plain->plain || steps_is_apart(context, plain->value) ? context : NULL;
}

/* What an entry keeps of a function (`Rule.plan`), borrowed; NULL if there is no pull for each operand. */
PyObject *steps_plan(PyObject *function, int number)
{
    PyObject *rule = PyDict_GetItemWithError(bound.rules, function);
    if (rule == NULL) {
        PyErr_Clear();
        return NULL;
    }
    PyObject *plan = PyList_GET_ITEM(SLOT(rule, bound.plans), number);
    if (!PyTuple_Check(plan) && plan != Py_None) {
        /* It was not asked for yet. */
        PyObject *made = PyObject_CallMethod(rule, "plan", "i", number);
        if (made == NULL)
            PyErr_Clear();
        Py_XDECREF(made);
        plan = PyList_GET_ITEM(SLOT(rule, bound.plans), number);
    }
    return PyTuple_Check(plan) ? plan : NULL;
}

/* Whether a ufunc calls a function of Python's for each element: what that does must not be done twice. */
static bool calls_python(PyObject *ufunc, Kind kind)
{
    if (kind != CALLS)
        return false;
    PyUFuncObject *made = (PyUFuncObject *)ufunc;
    return !PyObject_TypeCheck(ufunc, &PyUFunc_Type) || made->ntypes < 1 || made->types[0] == NPY_OBJECT;
}

static PyObject *kept(PyObject *plan, int which, PyObject *value)
{
    return Py_NewRef(PyTuple_GET_ITEM(plan, which) == Py_True ? value : Py_None);
}

/* Track a result and log the entry that bore it: `Lean.one`, `Lean.pair`. Takes over `value`, which may be NULL. */
static PyObject *logged(PyObject *ufunc, PyObject *plan, Operand *x, Operand *y, PyObject *value, PyObject *position)
{
    PyObject *context = x->context != NULL ? x->context : y->context, *entry = NULL;
    PyObject *tracked = value == NULL ? NULL : steps_fresh(context, value);
    if (tracked == NULL || tracked == NOT_HERE) {
        Py_XDECREF(value);
        return tracked;
    }
    if (y != NULL && (x->plain || y->plain)) {
        entry = steps_operation(ufunc, plan, x, y, value, SLOT(tracked, bound.place), position);
        if (entry == NULL)
            goto failed;
        goto made;
    }
    entry = steps_make_entry(y == NULL ? bound.one : bound.pair);
    if (entry == NULL)
        goto failed;
    SLOT(entry, bound.out) = Py_NewRef(SLOT(tracked, bound.place));
    SLOT(entry, bound.position) = Py_NewRef(position);
    SLOT(entry, bound.wanted) = Py_NewRef(PyTuple_GET_ITEM(plan, 1));
    SLOT(entry, bound.output) = kept(plan, 2, value);
    if (y == NULL) {
        SLOT(entry, bound.one_rule) = Py_NewRef(PyTuple_GET_ITEM(plan, 0));
        SLOT(entry, bound.one_x) = kept(plan, 3, x->value);
        SLOT(entry, bound.one_place) = Py_NewRef(x->place);
    } else {
        SLOT(entry, bound.pair_rule) = Py_NewRef(PyTuple_GET_ITEM(plan, 0));
        SLOT(entry, bound.pair_x) = kept(plan, 3, x->value);
        SLOT(entry, bound.pair_y) = kept(plan, 4, y->value);
        SLOT(entry, bound.pair_x_place) = Py_NewRef(x->active ? x->place : Py_None);
        SLOT(entry, bound.pair_y_place) = Py_NewRef(y->active ? y->place : Py_None);
    }
made:
    if (steps_log(context, entry) < 0)
        goto failed;
    Py_DECREF(entry);
    Py_DECREF(value);
    return tracked;
failed:
    Py_XDECREF(entry);
    Py_DECREF(value);
    Py_DECREF(tracked);
    return NULL;
}

static PyObject *computed(PyObject *ufunc, Kind kind, PyObject *x, PyObject *y)
{
    switch (kind) {
    case ADD:
        return PyNumber_Add(x, y);
    case SUBTRACT:
        return PyNumber_Subtract(x, y);
    case MULTIPLY:
        return PyNumber_Multiply(x, y);
    case DIVIDE:
        return PyNumber_TrueDivide(x, y);
    case POWER:
        return PyNumber_Power(x, y, Py_None);
    case NEGATIVE:
        return PyNumber_Negative(x);
    default:
        return y == NULL ? PyObject_CallOneArg(ufunc, x) : PyObject_CallFunctionObjArgs(ufunc, x, y, NULL);
    }
}

/* `operate_pair` for two operands of one context, or one and a plain number or array; NOT_HERE for all else. */
PyObject *steps_binary(PyObject *ufunc, Kind kind, PyObject *left, PyObject *right)
{
    Operand x, y;
    if (!steps_operand(left, &x) || !steps_operand(right, &y))
        return NOT_HERE;
    PyObject *context = steps_context_of_two(&x, &y);
    int active = x.active + 2 * y.active;
    PyObject *plan = active && context != NULL ? steps_plan(ufunc, active) : NULL;
    if (plan == NULL || calls_python(ufunc, kind) || !steps_keeps_small(plan, &x, &y))
        return NOT_HERE;
    PyObject *position = steps_position();
    if (position == NULL || position == NOT_HERE)
        return position;
    Py_INCREF(plan);
    PyObject *out = logged(ufunc, plan, &x, &y, computed(ufunc, kind, x.value, y.value), position);
    Py_DECREF(plan);
    Py_DECREF(position);
    return out;
}

/* `operate_one` for an operand that carries a gradient; NOT_HERE for all else. */
PyObject *steps_unary(PyObject *ufunc, Kind kind, PyObject *operand)
{
    Operand x;
    if (!steps_operand(operand, &x) || !x.active || PyFloat_CheckExact(x.value))
        return NOT_HERE;
    PyObject *plan = steps_plan(ufunc, 4);
    if (plan == NULL || calls_python(ufunc, kind) || !steps_is_lean(x.context))
        return NOT_HERE;
    PyObject *position = steps_position();
    if (position == NULL || position == NOT_HERE)
        return position;
    Py_INCREF(plan);
    PyObject *out = logged(ufunc, plan, &x, NULL, computed(ufunc, kind, x.value, NULL), position);
    Py_DECREF(plan);
    Py_DECREF(position);
    return out;
}

/* The walk back over entries with a `Call`: operations and updates. */
#include "steps.h"

/* Of a call that is walked here; elements from which on cotangents are added as they are made (`log._LARGE`); bytes of
 * arrays that are exchanged as a whole (`memory._BLOCK`). */
enum { MOST_OPERANDS = 6, LARGE = 1 << 16, BLOCK = 1 << 18 };

/* What an entry with a `Call` has, borrowed. */
typedef struct {
    PyObject *rule, *inputs, *args;
} Called;

/* Whether the rule of an entry has a pull for each operand, which takes cotangent, output and operands, and no more. */
static bool read_call(PyObject *entry, Called *called)
{
    PyObject *call = SLOT(entry, bound.call_of_entry);
    if (!Py_IS_TYPE(call, bound.call))
        return false;
    called->rule = SLOT(call, bound.call_rule);
    called->inputs = SLOT(call, bound.call_inputs);
    called->args = SLOT(call, bound.call_args);
    PyObject *kwargs = SLOT(call, bound.call_kwargs);
    return PyTuple_CheckExact(called->inputs) && PyTuple_CheckExact(called->args) &&
           PyTuple_GET_SIZE(called->args) <= MOST_OPERANDS && PyDict_CheckExact(kwargs) &&
           PyDict_GET_SIZE(kwargs) == 0 && PyTuple_GET_SIZE(SLOT(call, bound.call_names)) == 0 &&
           PyTuple_CheckExact(SLOT(called->rule, bound.per_argument)) &&
           (SLOT(called->rule, bound.broadcasts) == Py_True || SLOT(called->rule, bound.takes_arrays) == Py_True);
}

/* The cotangent of the operand `number`. */
static PyObject *pulled_call(Called *called, Py_ssize_t number, PyObject *ct, PyObject *output)
{
    PyObject *arguments[MOST_OPERANDS + 2] = {ct, output};
    Py_ssize_t count = PyTuple_GET_SIZE(called->args);
    for (Py_ssize_t k = 0; k < count; k++)
        arguments[k + 2] = PyTuple_GET_ITEM(called->args, k);
    PyObject *pull = PyTuple_GET_ITEM(SLOT(called->rule, bound.per_argument), number);
    if (count == 2)
        return steps_pulled(pull, ct, output, arguments[2], arguments[3]);
    return PyObject_Vectorcall(pull, arguments, (size_t)count + 2, NULL);
}

/* Whether the arrays at the places that a cotangent goes to are small: large ones are added to as they are made. */
static bool are_small(Called *called, PyObject *wanted)
{
    if (SLOT(called->rule, bound.adding) == Py_None)
        return true;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(wanted); k++) {
        PyObject *place = PyTuple_GET_ITEM(called->inputs, PyLong_AsSsize_t(PyTuple_GET_ITEM(wanted, k)));
        PyObject *shape = steps_root(place) == place      ? SLOT(place, bound.shape)
                          : Py_IS_TYPE(place, bound.view) ? SLOT(place, bound.part_shape)
                                                          : NULL;
        if (shape == NULL)
            return false;
        double size = 1;
        for (Py_ssize_t axis = 0; axis < PyTuple_GET_SIZE(shape); axis++)
            size *= (double)PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, axis));
        if (size >= LARGE)
            return false;
    }
    return true;
}

static int push_call(PyObject *entry, Called *called, PyObject *ct)
{
    PyObject *wanted = SLOT(entry, bound.wanted), *output = SLOT(entry, bound.output);
    bool broadcasts = SLOT(called->rule, bound.broadcasts) == Py_True;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(wanted); k++) {
        Py_ssize_t number = PyLong_AsSsize_t(PyTuple_GET_ITEM(wanted, k));
        PyObject *place = PyTuple_GET_ITEM(called->inputs, number);
        PyObject *cotangent = pulled_call(called, number, ct, output);
        if (cotangent != NULL && cotangent != Py_None && !broadcasts && !steps_fits_place(cotangent, place))
            Py_SETREF(cotangent, PyObject_CallMethodObjArgs(entry, names.checked, place, cotangent, NULL));
        int failed = cotangent == NULL ? -1 : cotangent == Py_None ? 0 : steps_accumulate(place, cotangent);
        Py_XDECREF(cotangent);
        if (failed)
            return -1;
    }
    return 0;
}

Step steps_walk_operation(PyObject *entry)
{
    PyObject *root = SLOT(entry, bound.out);
    Called called;
    if (!Py_IS_TYPE(root, bound.root) || !read_call(entry, &called) || !are_small(&called, SLOT(entry, bound.wanted)))
        return LEFT;
    PyObject *ct = SLOT(root, bound.shadow);
    if (ct == Py_None)
        return DONE;
    SLOT(root, bound.shadow) = Py_NewRef(Py_None);
    int failed = push_call(entry, &called, ct);
    if (failed)
        steps_blame(entry);
    Py_DECREF(ct);
    return failed ? FAILED_AFTER_UNDO : DONE;
}

/* What a sweep takes from the place that an update wrote, which keeps it if the update only added (`Update.take`). */
static int take_update(PyObject *out, PyObject *root, bool keeps, PyObject **ct)
{
    *ct = NULL;
    if (SLOT(root, bound.shadow) == Py_None)
        return 0;
    if (out == root) {
        *ct = Py_NewRef(SLOT(root, bound.shadow));
        steps_set(root, bound.owned, Py_NewRef(Py_False));
        if (!keeps)
            steps_set(root, bound.shadow, Py_NewRef(Py_None));
        return 0;
    }
    PyObject *region = steps_region(out);
    if (region == NULL)
        return -1;
    if (!PyArray_CheckExact(region)) {
        PyErr_SetString(PyExc_SystemError, "a shadow's region is no array");
        Py_DECREF(region);
        return -1;
    }
    *ct = PyArray_NewCopy((PyArrayObject *)region, NPY_CORDER);
    int failed = *ct == NULL ? -1 : keeps ? 0 : steps_clear_array((PyArrayObject *)region);
    Py_DECREF(region);
    return failed;
}

/* Add what the pulls of an update give, all of them made before the first is added. */
static int push_update(PyObject *entry, Called *called, PyObject *ct)
{
    PyObject *wanted = SLOT(entry, bound.wanted), *made[2] = {NULL, NULL};
    Py_ssize_t count = PyTuple_GET_SIZE(wanted), numbers[2];
    int failed = 0;
    for (Py_ssize_t k = 0; k < count && !failed; k++) {
        numbers[k] = PyLong_AsSsize_t(PyTuple_GET_ITEM(wanted, k));
        made[k] = pulled_call(called, numbers[k], ct, SLOT(entry, bound.output));
        failed = made[k] == NULL;
    }
    for (Py_ssize_t k = 0; k < count; k++) {
        if (!failed && made[k] != Py_None)
            failed = steps_accumulate(PyTuple_GET_ITEM(called->inputs, numbers[k]), made[k]);
        Py_XDECREF(made[k]);
    }
    return failed ? -1 : 0;
}

Step steps_walk_update(PyObject *entry)
{
    PyObject *out = SLOT(entry, bound.out), *root = steps_root(out), *array = SLOT(entry, bound.update_array);
    PyObject *saved = SLOT(entry, bound.update_saved);
    Called called;
    if (root == NULL || (out != root && SLOT(out, bound.overlapping) != Py_False) ||
        SLOT(entry, bound.mask) != Py_None || !PyArray_CheckExact(array) || !PyArray_CheckExact(saved) ||
        PyArray_NBYTES((PyArrayObject *)array) > BLOCK || !PyArray_ISWRITEABLE((PyArrayObject *)array) ||
        !read_call(entry, &called) || SLOT(called.rule, bound.broadcasts) != Py_True ||
        PyTuple_GET_SIZE(called.args) != 2 || PyTuple_GET_SIZE(SLOT(entry, bound.wanted)) > 2)
        return LEFT;
    bool keeps = SLOT(entry, bound.keeps) == Py_True;
    PyObject *second = PyTuple_GET_ITEM(called.inputs, 1), *ct = NULL;
    if (!(keeps && second == Py_None) && take_update(out, root, keeps, &ct) < 0)
        return FAILED;
    PyObject *written = PyArray_NewCopy((PyArrayObject *)array, NPY_CORDER);
    if (written == NULL || PyArray_CopyInto((PyArrayObject *)array, (PyArrayObject *)saved) < 0) {
        Py_XDECREF(written);
        Py_XDECREF(ct);
        return FAILED;
    }
    steps_set(entry, bound.update_saved, written);
    int failed = 0;
    if (ct != NULL && keeps) {
        PyObject *sign = PyObject_GetAttr(SLOT(called.rule, bound.facts), names.adds);
        PyObject *cotangent = sign == NULL ? NULL : PyLong_AsLong(sign) > 0 ? Py_NewRef(ct) : PyNumber_Negative(ct);
        failed = cotangent == NULL ? -1 : steps_accumulate(second, cotangent);
        Py_XDECREF(sign);
        Py_XDECREF(cotangent);
    } else if (ct != NULL) {
        if (SLOT(entry, bound.output) != Py_None)
            steps_set(entry, bound.output, Py_NewRef(written));
        failed = push_update(entry, &called, ct);
    }
    if (failed)
        steps_blame(entry);
    Py_XDECREF(ct);
    return failed ? FAILED_AFTER_UNDO : steps_forgotten(entry, bound.update_activates);
}

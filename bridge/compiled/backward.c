/* The walk back over the commonest entries: take, undo, push, as `Context.rewind` says it. */
#include "steps.h"

/* How many entries are walked before Python is asked again, which handles signals and lets other threads run. */
enum { STRETCH = 256 };

/* Of a call that is walked here; elements from which on cotangents are added as they are made (`log._LARGE`); bytes of
 * arrays that are exchanged as a whole (`memory._BLOCK`). */
enum { MOST_OPERANDS = 6, LARGE = 1 << 16, BLOCK = 1 << 18 };

static int push_operand(PyObject *rule, Py_ssize_t number, PyObject *place, PyObject *ct, PyObject *output, PyObject *x,
                        PyObject *y)
{
    PyObject *pull = PyTuple_GET_ITEM(SLOT(rule, bound.per_argument), number);
    PyObject *cotangent = steps_pulled(pull, ct, output, x, y);
    if (cotangent == NULL)
        return -1;
    int failed = cotangent == Py_None ? 0 : steps_accumulate(place, cotangent);
    Py_DECREF(cotangent);
    return failed;
}

/* The pull of an entry that bore a root, given the cotangent that lay there. */
static int push_birth(PyObject *entry, PyObject *ct)
{
    if (Py_IS_TYPE(entry, bound.element_read)) {
        PyObject *region = steps_region(SLOT(entry, bound.read_parent));
        int failed = region == NULL ? -1 : steps_add_at(region, SLOT(entry, bound.read_key), ct);
        Py_XDECREF(region);
        return failed;
    }
    PyObject *output = SLOT(entry, bound.output);
    if (Py_IS_TYPE(entry, bound.one))
        return push_operand(SLOT(entry, bound.one_rule), 0, SLOT(entry, bound.one_place), ct, output,
                            SLOT(entry, bound.one_x), NULL);
    PyObject *rule = SLOT(entry, bound.pair_rule), *x = SLOT(entry, bound.pair_x), *y = SLOT(entry, bound.pair_y);
    PyObject *place = SLOT(entry, bound.pair_x_place);
    if (place != Py_None && push_operand(rule, 0, place, ct, output, x, y) < 0)
        return -1;
    place = SLOT(entry, bound.pair_y_place);
    return place == Py_None ? 0 : push_operand(rule, 1, place, ct, output, x, y);
}

/* Say in the error of a pull which operation it belongs to (`log.blame`). */
static void blame(PyObject *entry)
{
    PyObject *kind, *error, *traceback;
    PyErr_Fetch(&kind, &error, &traceback);
    PyErr_NormalizeException(&kind, &error, &traceback);
    if (traceback != NULL)
        PyException_SetTraceback(error, traceback);
    if (PyErr_GivenExceptionMatches(error, PyExc_Exception)) {
        PyObject *done = PyObject_CallFunctionObjArgs(bound.blame, entry, error, NULL);
        if (done == NULL)
            PyErr_Clear();
        Py_XDECREF(done);
    }
    PyErr_Restore(kind, error, traceback);
}

/* What became of an entry: nothing yet, an error before it was undone or after, or all. */
typedef enum { LEFT, FAILED, FAILED_AFTER_UNDO, DONE } Step;

static Step walk_birth(PyObject *entry)
{
    PyObject *root = SLOT(entry, bound.out);
    if (!Py_IS_TYPE(root, bound.root))
        return LEFT;
    PyObject *ct = SLOT(root, bound.shadow);
    if (ct == Py_None)
        return DONE;
    SLOT(root, bound.shadow) = Py_NewRef(Py_None);
    int failed = push_birth(entry, ct);
    if (failed)
        blame(entry);
    Py_DECREF(ct);
    return failed ? FAILED_AFTER_UNDO : DONE;
}

/* Forget what lay at a place before the first write there that carried a gradient. */
static Step forgotten(PyObject *entry, Py_ssize_t activates)
{
    if (SLOT(entry, activates) != Py_True)
        return DONE;
    PyObject *done = PyObject_CallMethodNoArgs(entry, names.forget_before);
    Py_XDECREF(done);
    return done == NULL ? FAILED_AFTER_UNDO : DONE;
}

/* After the undo of a write: hand the cotangent on. */
static Step end_write(PyObject *entry, PyObject *ct)
{
    PyObject *source = SLOT(entry, bound.source);
    if (ct != NULL && source != Py_None && steps_accumulate(source, ct) < 0) {
        blame(entry);
        return FAILED_AFTER_UNDO;
    }
    return forgotten(entry, bound.activates);
}

static Step walk_element_write(PyObject *entry)
{
    PyObject *parent = SLOT(entry, bound.write_parent), *key = SLOT(entry, bound.write_key);
    PyObject *array = SLOT(entry, bound.array), *saved = SLOT(entry, bound.saved), *root = steps_root(parent);
    double *memory = steps_is_index(key) ? steps_element(array, key) : NULL;
    if (root == NULL || memory == NULL || !Py_IS_TYPE(saved, &PyDoubleArrType_Type) ||
        !PyArray_ISWRITEABLE((PyArrayObject *)array))
        return LEFT;
    PyObject *ct = NULL;
    if (SLOT(root, bound.shadow) != Py_None) {
        PyObject *region = steps_region(parent);
        double *at = region == NULL ? NULL : steps_element(region, key);
        if (at == NULL || !PyArray_ISWRITEABLE((PyArrayObject *)region)) {
            Py_XDECREF(region);
            return PyErr_Occurred() ? FAILED : LEFT;
        }
        ct = PyArrayScalar_New(Double);
        if (ct != NULL) {
            PyArrayScalar_ASSIGN(ct, Double, *at);
            *at = 0;
        }
        Py_DECREF(region);
        if (ct == NULL)
            return FAILED;
    }
    PyObject *written = PyArrayScalar_New(Double);
    if (written == NULL) {
        Py_XDECREF(ct);
        return FAILED;
    }
    PyArrayScalar_ASSIGN(written, Double, *memory);
    *memory = PyArrayScalar_VAL(saved, Double);
    steps_set(entry, bound.saved, written);
    Step step = end_write(entry, ct);
    Py_XDECREF(ct);
    return step;
}

static Step walk_write(PyObject *entry)
{
    PyObject *out = SLOT(entry, bound.out), *saved = SLOT(entry, bound.saved), *key = SLOT(entry, bound.write_key);
    PyObject *root = out == NULL || !Py_IS_TYPE(out, bound.view) ? NULL : steps_root(out);
    if (root == NULL || SLOT(out, bound.overlapping) != Py_False || key == Py_Ellipsis || !PyArray_CheckExact(saved) ||
        !PyArray_CheckExact(SLOT(entry, bound.array)))
        return LEFT;
    PyObject *shown = PyObject_GetItem(SLOT(entry, bound.array), key), *region = NULL, *ct = NULL, *written = NULL;
    Step step = FAILED;
    if (shown == NULL)
        return FAILED;
    if (!PyArray_CheckExact(shown) || !PyArray_ISWRITEABLE((PyArrayObject *)shown)) {
        Py_DECREF(shown);
        return LEFT;
    }
    if (SLOT(root, bound.shadow) != Py_None) {
        region = steps_region(out);
        if (region == NULL)
            goto done;
        if (!PyArray_CheckExact(region)) {
            step = LEFT;
            goto done;
        }
    }
    written = PyArray_NewCopy((PyArrayObject *)shown, NPY_CORDER);
    ct = region == NULL ? NULL : PyArray_NewCopy((PyArrayObject *)region, NPY_CORDER);
    if (written == NULL || (region != NULL && ct == NULL) ||
        (region != NULL && steps_clear_array((PyArrayObject *)region) < 0) ||
        PyArray_CopyInto((PyArrayObject *)shown, (PyArrayObject *)saved) < 0)
        goto done;
    steps_set(entry, bound.saved, Py_NewRef(written));
    step = end_write(entry, ct);
done:
    Py_XDECREF(written);
    Py_XDECREF(ct);
    Py_XDECREF(region);
    Py_DECREF(shown);
    return step;
}

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
           PyTuple_GET_SIZE(called->args) <= MOST_OPERANDS && PyDict_CheckExact(kwargs) && PyDict_GET_SIZE(kwargs) == 0 &&
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
        PyObject *shape = steps_root(place) == place ? SLOT(place, bound.shape)
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

static Step walk_operation(PyObject *entry)
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
        blame(entry);
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

static Step walk_update(PyObject *entry)
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
        blame(entry);
    Py_XDECREF(ct);
    return failed ? FAILED_AFTER_UNDO : forgotten(entry, bound.update_activates);
}

static Step walk_entry(PyObject *entry)
{
    PyTypeObject *type = Py_TYPE(entry);
    if (type == bound.pair || type == bound.element_read || type == bound.one)
        return walk_birth(entry);
    if (type == bound.element_write)
        return walk_element_write(entry);
    if (type == bound.operation)
        return walk_operation(entry);
    if (type == bound.update)
        return walk_update(entry);
    return type == bound.write ? walk_write(entry) : LEFT;
}

/* `walk(context, log, number)`: walk back from entry `number`; the number of the first entry that is left. */
PyObject *steps_walk(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "walk(context, log, number)");
        return NULL;
    }
    PyObject *context = arguments[0], *log = arguments[1];
    Py_ssize_t first = PyLong_AsSsize_t(arguments[2]), number = first;
    if (!bound.ready || !PyList_CheckExact(log) || number >= PyList_GET_SIZE(log))
        return Py_NewRef(arguments[2]);
    PyObject *memory = steps_attribute(context, names.memory);
    if (memory == NULL || !Py_IS_TYPE(memory, bound.array_memory))
        return Py_NewRef(arguments[2]);
    Step step = DONE;
    while (number >= 0 && first - number < STRETCH) {
        PyObject *entry = Py_NewRef(PyList_GET_ITEM(log, number));
        step = walk_entry(entry);
        Py_DECREF(entry);
        if (step == LEFT || step == FAILED)
            break;
        number--;
        if (step == FAILED_AFTER_UNDO)
            break;
    }
    if (number < first) {
        PyObject *kind, *error, *traceback, *undone = PyLong_FromSsize_t(number + 1);
        PyErr_Fetch(&kind, &error, &traceback);
        int failed = undone == NULL ? -1 : PyObject_SetAttr(context, names.undone_from, undone);
        Py_XDECREF(undone);
        if (failed)
            return NULL;
        PyErr_Restore(kind, error, traceback);
    }
    return step == FAILED || step == FAILED_AFTER_UNDO ? NULL : PyLong_FromSsize_t(number);
}

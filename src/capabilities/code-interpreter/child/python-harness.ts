/**
 * Python code that runs programs one after the other in one namespace and returns their outcomes. Programs can reach
 * and change all of it, so no guarantee depends on it. Its value is the function that runs one program.
 */
export const PYTHON_HARNESS = String.raw`import ast, asyncio, inspect, io, json, linecache, os, stat, sys, traceback, types
import __main__

for name in list(sys.modules):
    if name.partition('.')[0] in ('js', 'pyodide_js'):
        del sys.modules[name]
# The part of the interpreter's interface that the event loop requires here.
_api = types.ModuleType('pyodide_js._api')
_api.config = types.SimpleNamespace(enableRunUntilComplete=True)
_stub = types.ModuleType('pyodide_js')
_stub._api = _api
_stub.__path__ = []
sys.modules.update({'pyodide_js': _stub, 'pyodide_js._api': _api})

_limits = json.loads(LIMITS)
# The snapshot contains the same random state everywhere.
if 'random' in sys.modules:
    sys.modules['random'].seed()

_own_files = set()
_programs = 0


def _truncate(text, truncations):
    if len(text) <= _limits['textCharactersMax']:
        return text
    truncations.append(True)
    return text[: _limits['textCharactersMax']]


def _keep_own_frames(summary, seen):
    if summary is None or id(summary) in seen:
        return
    seen.add(id(summary))
    summary.stack = traceback.StackSummary.from_list([frame for frame in summary.stack if frame.filename in _own_files])
    _keep_own_frames(summary.__cause__, seen)
    _keep_own_frames(summary.__context__, seen)
    for inner in summary.exceptions or ():
        _keep_own_frames(inner, seen)


def _explain_missing(error):
    if not isinstance(error, ModuleNotFoundError) or not isinstance(error.name, str):
        return ''
    package = error.name.partition('.')[0]
    if package in sys.modules or package in sys.stdlib_module_names:
        return ''
    return (
        f'\nThe package {package} is not installed for programs; the standard library is. The operator of this server '
        f'can add it: parley wheels add {package} (setting codeInterpreter.wheelsFolder).'
    )


def _describe(error):
    try:
        summary = traceback.TracebackException.from_exception(error, limit=-50, compact=True)
        _keep_own_frames(summary, set())
        return ''.join(summary.format()).rstrip() + _explain_missing(error)
    except BaseException:
        return type(error).__name__


def _files():
    found = {}
    for folder, _, names in os.walk(HOME):
        for name in sorted(names):
            path = os.path.join(folder, name)
            try:
                status = os.lstat(path)
            except OSError:
                continue
            # Skips links.
            if stat.S_ISREG(status.st_mode):
                found[path] = (status.st_mtime_ns, status.st_size)
            if len(found) >= 10_000:
                return found
    return found


def _save_figures():
    pyplot = sys.modules.get('matplotlib.pyplot')
    if pyplot is None:
        return
    for number in pyplot.get_fignums():
        index = next(n for n in range(1, 10_000) if not os.path.exists(f'{HOME}/figure-{n}.png'))
        pyplot.figure(number).savefig(f'{HOME}/figure-{index}.png', format='png')
    pyplot.close('all')


def _changed(before, truncations):
    files, names, bytes_left = [], set(), _limits['filesBytesMax']
    for path, state in sorted(_files().items()):
        if before.get(path) == state:
            continue
        bytes_left -= state[1]
        if len(files) >= _limits['filesMax'] or bytes_left < 0:
            truncations.append(True)
            break
        name = path[len(HOME) + 1 :].replace('/', '_')
        while name in names:
            name = '_' + name
        names.add(name)
        files.append([name, path])
    return files


async def _evaluate(code, flags, namespace):
    result = eval(code, namespace)
    if code.co_flags & inspect.CO_COROUTINE:
        result = await result
    return await result if asyncio.isfuture(result) else result


async def run(source):
    global _programs
    _programs += 1
    filename = 'program.py' if _programs == 1 else f'program-{_programs}.py'
    _own_files.add(filename)
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    namespace, truncations, outcome = __main__.__dict__, [], {}
    try:
        os.chdir(HOME)
        before = _files()
    except OSError:
        before = {}
    try:
        tree = ast.parse(source, filename)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        await _evaluate(compile(tree, filename, 'exec', flags), flags, namespace)
        if last is not None:
            value = await _evaluate(compile(ast.Expression(last.value), filename, 'eval', flags), flags, namespace)
            if value is not None:
                outcome['value'] = _truncate(repr(value), truncations)
        other_tasks = asyncio.all_tasks() - {asyncio.current_task()}
        if other_tasks:
            await asyncio.gather(*other_tasks, return_exceptions=True)
        _save_figures()
    except SystemExit as error:
        if error.code not in (None, 0):
            outcome['error'] = _truncate(f'SystemExit: {error.code}', truncations)
    except BaseException as error:
        outcome['error'] = _truncate(_describe(error), truncations)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass
    files = _changed(before, truncations)
    return json.dumps({**outcome, 'files': files, 'isTruncated': bool(truncations)})


run
`;

/**
 * Python: runs programs one after the other in one namespace, and says what came of each. Programs can reach and change all of
 * it: nothing that has to hold rests on it. Its value is the function that runs one.
 */
export const HARNESS = String.raw`import ast, asyncio, inspect, io, json, linecache, os, stat, sys, traceback, types
import __main__

for name in list(sys.modules):
    if name.partition('.')[0] in ('js', 'pyodide_js'):
        del sys.modules[name]
# All that the event loop asks of the interpreter's own interface when it is run by hand.
_api = types.ModuleType('pyodide_js._api')
_api.config = types.SimpleNamespace(enableRunUntilComplete=True)
_stub = types.ModuleType('pyodide_js')
_stub._api = _api
_stub.__path__ = []
sys.modules.update({'pyodide_js': _stub, 'pyodide_js._api': _api})

_limits = json.loads(LIMITS)
# The image that this began from is the same everywhere.
if 'random' in sys.modules:
    sys.modules['random'].seed()

_own_files = set()
_programs = 0


def _cut(text, cuts):
    if len(text) <= _limits['textCharactersMax']:
        return text
    cuts.append(True)
    return text[: _limits['textCharactersMax']]


def _only_own(told, seen):
    if told is None or id(told) in seen:
        return
    seen.add(id(told))
    told.stack = traceback.StackSummary.from_list([frame for frame in told.stack if frame.filename in _own_files])
    _only_own(told.__cause__, seen)
    _only_own(told.__context__, seen)
    for inner in told.exceptions or ():
        _only_own(inner, seen)


def _describe(error):
    try:
        told = traceback.TracebackException.from_exception(error, limit=-50, compact=True)
        _only_own(told, set())
        return ''.join(told.format()).rstrip()
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
            # A link is not what it points to.
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
        place = next(n for n in range(1, 10_000) if not os.path.exists(f'{HOME}/figure-{n}.png'))
        pyplot.figure(number).savefig(f'{HOME}/figure-{place}.png', format='png')
    pyplot.close('all')


def _changed(before, cuts):
    files, names, room = [], set(), _limits['filesBytesMax']
    for path, state in sorted(_files().items()):
        if before.get(path) == state:
            continue
        room -= state[1]
        if len(files) >= _limits['filesMax'] or room < 0:
            cuts.append(True)
            break
        name = path[len(HOME) + 1 :].replace('/', '_')
        while name in names:
            name = '_' + name
        names.add(name)
        files.append([name, path])
    return files


async def _evaluate(code, flags, space):
    result = eval(code, space)
    if code.co_flags & inspect.CO_COROUTINE:
        result = await result
    return await result if asyncio.isfuture(result) else result


async def run(source):
    global _programs
    _programs += 1
    filename = 'program.py' if _programs == 1 else f'program-{_programs}.py'
    _own_files.add(filename)
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    space, cuts, outcome = __main__.__dict__, [], {}
    try:
        os.chdir(HOME)
        before = _files()
    except OSError:
        before = {}
    try:
        tree = ast.parse(source, filename)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        await _evaluate(compile(tree, filename, 'exec', flags), flags, space)
        if last is not None:
            value = await _evaluate(compile(ast.Expression(last.value), filename, 'eval', flags), flags, space)
            if value is not None:
                outcome['value'] = _cut(repr(value), cuts)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        if others:
            await asyncio.gather(*others, return_exceptions=True)
        _save_figures()
    except SystemExit as error:
        if error.code not in (None, 0):
            outcome['error'] = _cut(f'SystemExit: {error.code}', cuts)
    except BaseException as error:
        outcome['error'] = _cut(_describe(error), cuts)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass
    files = _changed(before, cuts)
    return json.dumps({**outcome, 'files': files, 'isCut': bool(cuts)})


run
`;

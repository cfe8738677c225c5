/** Common beginning of both programs, whose value is the list of successful attacks. */
const PREAMBLE = String.raw`
_breaches = []

def _try(name):
    def attempt(attack):
        try:
            if attack():
                _breaches.append(name)
        except BaseException:
            pass
    return attempt

`;

/** Known escapes from interpreters like this one. `PORT` stands for a port on 127.0.0.1 that the service listens on. */
const ESCAPES = String.raw`
import os

@_try('the host\'s globals by import js')
def _():
    import js
    return any(hasattr(js, name) for name in ('process', 'require', 'fetch', 'globalThis', 'Function'))

@_try('code of the host\'s language by run_js')
def _():
    from pyodide.code import run_js
    return run_js('1 + 1') == 2

@_try('code of the host\'s language by a constructor')
def _():
    from pyodide.ffi import to_js
    return to_js([1]).constructor.constructor('return 1')() == 1

@_try('the interpreter\'s own interface')
def _():
    import pyodide_js
    return any(hasattr(pyodide_js, name) for name in ('FS', '_module', 'runPython', 'mountNodeFS', 'loadPackage'))

@_try('a file of the host')
def _():
    return any(open(path).read() for path in ('/etc/passwd', '/etc/hostname', '/proc/self/environ'))

@_try('a connection')
def _():
    import socket
    with socket.create_connection(('127.0.0.1', PORT), 1) as connection:
        return connection.recv(1) is not None

@_try('a process')
def _():
    import subprocess
    return subprocess.run(['id'])

@_try('a process by fork')
def _():
    return os.fork() >= 0

@_try('the environment')
def _():
    return set(os.environ) - {'HOME', 'MPLBACKEND', 'PATH', 'PYTHONINSPECT', 'LD_LIBRARY_PATH', 'USER', 'LOGNAME', 'PWD', 'LANG', '_', 'TERM', 'LC_CTYPE', 'PYTHONHASHSEED'}

_breaches
`;

/** `MEMORY_MB` stands for the memory limit of programs. */
const MEMORY = String.raw`
@_try('memory beyond the limit')
def _():
    blocks = []
    try:
        for _ in range(MEMORY_MB // 16 + 4):
            blocks.append(bytearray(16 << 20))
        return True
    finally:
        blocks.clear()

_breaches
`;

/** Creates the Python attacks on the sandbox. The second may end its process, which counts as contained. */
export const createPythonAttacks = ({ port, memoryMb }: { readonly port: number; readonly memoryMb: number }) => ({
  escapes: PREAMBLE + ESCAPES.replaceAll('PORT', String(port)),
  memory: PREAMBLE + MEMORY.replaceAll('MEMORY_MB', String(memoryMb)),
});

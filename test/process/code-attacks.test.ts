// Ways out of interpreters of this kind that are known from public incidents, each tried by a program in a real container. The
// table in docs/security.md names every one of these tests.
import assert from 'node:assert/strict';
import { writeFile, readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { CodeOutput } from '../../src/core/server-tools.ts';
import { openInterpreter, whyNotStrict } from './__fixtures__/code-interpreter.ts';
import type { Bench } from './__fixtures__/code-interpreter.ts';

type CodeErrorType = NonNullable<CodeOutput['error']>['type'];

interface Attack {
  readonly name: string;
  readonly code: string;
  /** Of the last expression; what a program could do would be told there. */
  readonly value?: string | RegExp;
  readonly error?: RegExp;
  /** What became of its container. */
  readonly ended?: readonly CodeErrorType[];
}

/** In Python: runs a function, and is what it gives or how it failed. */
const TRY = `
def attempt(work):
    try:
        return work()
    except BaseException as error:
        return 'refused: ' + type(error).__name__
`;

const ATTACKS: readonly Attack[] = [
  {
    name: 'import js finds nothing of the host',
    code: `${TRY}
def reach():
    import js
    return [name for name in ('process', 'require', 'fetch', 'globalThis', 'Function', 'Object') if hasattr(js, name)]
attempt(reach)`,
    value: /^'refused: ModuleNotFoundError'$|^\[\]$/,
  },
  {
    name: 'pyodide_js has no interface in it',
    code: `${TRY}
def reach():
    import pyodide_js, pyodide_js._api
    return [name for module in (pyodide_js, pyodide_js._api) for name in dir(module) if name in ('FS', '_module', 'runPython', 'mountNodeFS', 'loadPackage', 'rawRun')]
attempt(reach)`,
    value: '[]',
  },
  {
    name: 'run_js compiles nothing',
    code: `${TRY}
def reach():
    from pyodide.code import run_js
    return run_js('1 + 1')
attempt(reach)`,
    value: /refused/,
  },
  {
    name: 'the C module of the interpreter leads to no code of the host',
    code: `${TRY}
def reach():
    import _pyodide_core
    found = [name for name in dir(_pyodide_core) if 'run' in name.lower() or 'eval' in name.lower()]
    return [attempt(lambda: getattr(_pyodide_core, name)('1 + 1')) for name in found]
str(attempt(reach)).count('2')`,
    value: '0',
  },
  {
    name: 'constructors of objects that came from the host compile nothing',
    code: `${TRY}
from pyodide.ffi import to_js
def climb(start):
    return [attempt(lambda: start.constructor.constructor('return typeof process')()),
            attempt(lambda: start.constructor.constructor.constructor('return this')()),
            attempt(lambda: start.__proto__.constructor.constructor('return 1')())]
{result for start in (to_js([]), to_js({}), to_js(b'x'), to_js(lambda: 1)) for result in climb(start) if not str(result).startswith('refused')}`,
    value: 'set()',
  },
  {
    name: 'objects of the host that memory still holds lead to no process',
    code: `${TRY}
import gc
from pyodide.ffi import JsProxy
found = [thing for thing in gc.get_objects() if isinstance(thing, JsProxy)]
names = ('process', 'require', 'mainModule', 'binding', 'Deno', 'fetch', 'WebSocket')
[name for thing in found for name in names if attempt(lambda: getattr(thing, name)) not in (None,) and not str(attempt(lambda: getattr(thing, name))).startswith('refused')]`,
    value: '[]',
  },
  {
    name: 'polluted prototypes do not reach the process around the realm',
    code: `${TRY}
from pyodide.ffi import to_js
seen = []
def spy(*args):
    seen.append([str(type(arg)) for arg in args])
    return None
def pollute():
    root = to_js([]).constructor.prototype.__proto__
    for name in ('toJSON', 'get', 'value', 'then', 'constructor'):
        setattr(root, name, spy)
    to_js([]).constructor.prototype.push = spy
    return 'polluted'
first = attempt(pollute)
print('still here')
[attempt(lambda: thing) for thing in seen if 'process' in str(thing)]`,
    ended: ['time', 'lost', 'output'],
    value: '[]',
  },
  {
    name: 'a getter that the host would have to read is never asked',
    code: `${TRY}
from pyodide.ffi import to_js, create_proxy
asked = []
def reach():
    error = to_js([]).constructor.constructor('return 1')
def spoil():
    from pyodide.ffi import JsException
    try:
        to_js([]).no.such.thing
    except BaseException as error:
        return str(error)
attempt(spoil)
asked`,
    value: '[]',
  },
  {
    name: 'subclasses and frames lead to nothing outside Python',
    code: `${TRY}
import sys
def walk():
    found = []
    for kind in object.__subclasses__():
        for name in ('_wrap_close', 'Popen', 'FileLoader'):
            if kind.__name__ == name:
                system = kind.__init__.__globals__.get('system') if hasattr(kind.__init__, '__globals__') else None
                if system:
                    found.append(attempt(lambda: system('id')))
    frame = sys._getframe()
    while frame:
        for secret in ('nonce', 'process'):
            if secret in frame.f_globals:
                found.append(secret)
        frame = frame.f_back
    return [each for each in found if not str(each).startswith('refused') and each not in (-1,)]
walk()`,
    value: '[]',
  },
  {
    name: 'a pickle runs no program of the host',
    code: `${TRY}
import os, pickle
class Evil:
    def __reduce__(self):
        return (os.system, ('id > /tmp/owned',))
(attempt(lambda: pickle.loads(pickle.dumps(Evil()))) in (-1, 'refused: OSError'), os.path.exists('/tmp/owned'))`,
    value: /, False\)$/,
  },
  {
    name: 'ctypes calls nothing of the host',
    code: `${TRY}
import ctypes
def call(name):
    return getattr(ctypes.CDLL(None), name)
[name for name in ('emscripten_run_script', 'emscripten_run_script_int', 'emscripten_async_run_script', 'execve', 'system')
 if not str(attempt(lambda: call(name)(b'process.exit(7)', None, None))).startswith('refused') and attempt(lambda: call(name)(b'1', None, None)) not in (-1, 0)]`,
    value: '[]',
    // What would compile code is a fault of the interpreter here.
    ended: ['lost'],
  },
  {
    name: 'files of the host cannot be read',
    code: `${TRY}
def read(path):
    with open(path, 'rb') as file:
        return file.read()[:40]
[path for path in ('SECRET', '/etc/passwd', '/etc/hostname', '/etc/shadow', '/root/.ssh/id_rsa', '/app/child/main.ts', '/node')
 if not str(attempt(lambda: read(path))).startswith('refused')]`,
    value: '[]',
  },
  {
    name: '/proc tells nothing of the host',
    code: `${TRY}
import os
def read(path):
    with open(path, 'rb') as file:
        return file.read()
paths = ['/proc/self/environ', '/proc/1/environ', f'/proc/{PARENT}/environ', f'/proc/{PARENT}/cmdline', '/proc/self/maps', '/proc/self/mem', '/proc/version', '/proc/net/tcp']
[path for path in paths if not str(attempt(lambda: read(path))).startswith('refused')]`,
    value: '[]',
  },
  {
    name: 'the environment of the service is not there',
    code: `import os
sorted(name for name in os.environ if name.startswith('PARLEY') or 'KEY' in name or 'NODE' in name or name in ('SHELL', 'SSH_AUTH_SOCK'))`,
    value: '[]',
  },
  {
    name: 'no connection can be made or waited for',
    code: `${TRY}
import socket
def reach():
    with socket.create_connection(('127.0.0.1', PORT), 2) as connection:
        connection.sendall(b'x')
        return connection.recv(1)
def listen():
    server = socket.socket()
    server.bind(('0.0.0.0', 0))
    server.listen()
    server.settimeout(0.2)
    return server.accept()
def lookup():
    import urllib.request
    return urllib.request.urlopen('http://127.0.0.1:PORT/', timeout=2).read()
[str(attempt(work)).startswith('refused') for work in (reach, listen, lookup)]`,
    value: '[True, True, True]',
  },
  {
    name: 'the interpreter of sockets over the host is not there',
    code: `${TRY}
import asyncio
async def reach():
    reader, writer = await asyncio.open_connection('127.0.0.1', PORT)
    return await reader.read(1)
result = 'none'
try:
    result = await asyncio.wait_for(reach(), 3)
except BaseException as error:
    result = 'refused'
result`,
    value: `'refused'`,
  },
  {
    name: 'no process is started',
    code: `${TRY}
import os, subprocess, multiprocessing
def pool():
    process = multiprocessing.Process(target=print)
    process.start()
    return process.pid
[str(attempt(work)).startswith('refused') or attempt(work) == -1 for work in
 (os.fork, lambda: subprocess.run(['id']), lambda: os.system('id'), lambda: os.execv('/node', ['/node']), pool)]`,
    value: '[True, True, True, True, True]',
  },
  {
    name: 'a fork bomb starts nothing',
    code: `${TRY}
import os, threading
started = 0
for _ in range(1000):
    if not str(attempt(os.fork)).startswith('refused'):
        started += 1
    if not str(attempt(lambda: threading.Thread(target=print).start())).startswith('refused'):
        started += 1
started`,
    value: '0',
  },
  {
    name: 'a loop without end is ended',
    code: 'while True: pass',
    ended: ['time'],
  },
  {
    name: 'a loop that catches everything is ended',
    code: `while True:
    try:
        while True: pass
    except BaseException:
        pass`,
    ended: ['time'],
  },
  {
    name: 'a regular expression that never comes back is ended',
    code: `import re
re.match(r'(a*)*b', 'a' * 40)`,
    ended: ['time'],
  },
  {
    name: '10 GB at once are refused',
    code: 'len(b"x" * 10_000_000_000)',
    error: /MemoryError|OverflowError/,
  },
  {
    name: 'memory that grows without end is refused',
    code: `blocks = []
while True:
    blocks.append(bytearray(8 << 20))`,
    error: /MemoryError/,
    ended: ['memory'],
  },
  {
    name: 'files that grow without end are refused',
    code: `with open('big', 'wb') as file:
    while True:
        file.write(bytes(8 << 20))
        file.flush()`,
    error: /MemoryError|OSError/,
    ended: ['memory', 'lost', 'time'],
  },
  {
    name: 'objects of the host without end are refused',
    code: `from pyodide.ffi import to_js
kept = []
while True:
    kept.append(to_js(bytes(8 << 20)))`,
    error: /.*/,
    ended: ['memory', 'lost', 'time'],
  },
  {
    name: 'a compressed bomb is refused',
    code: `import zlib
packed = zlib.compress(bytes(64 << 20))
for _ in range(100):
    packed = packed + b''
data = [zlib.decompress(packed) for _ in range(50)]`,
    error: /MemoryError/,
    ended: ['memory'],
  },
  {
    name: 'recursion without end is refused',
    code: `def f(n): return f(n + 1)
f(0)`,
    error: /RecursionError/,
    ended: ['lost'],
  },
  {
    name: 'huge output is cut',
    code: `import sys
for _ in range(2000): print('x' * 10_000)
sys.stderr.write('y' * 5_000_000)
'end'`,
    value: `'end'`,
  },
  {
    name: 'a huge value is cut',
    code: `'x' * 20_000_000`,
    value: /^'x+$/,
  },
  {
    name: 'what a program prints is never taken for our own words',
    code: `import json, sys
for stream in (sys.stdout, sys.stderr):
    stream.write('\\n' + json.dumps({'nonce': 'x', 'type': 'done', 'outcome': {'value': 'forged', 'isCut': False}}) + '\\n')
    stream.flush()
open('/dev/stdout', 'w').write(json.dumps({'nonce': 'x', 'type': 'done', 'outcome': {'value': 'forged', 'isCut': False}}) + '\\n')
import os
os.write(1, b'{"nonce":"x","type":"done","outcome":{"value":"forged"}}\\n')
'mine'`,
    value: `'mine'`,
  },
  {
    name: 'a link in the working folder gives no file back',
    code: `import os
os.symlink('/lib/python314.zip', 'link.zip')
os.symlink('SECRET', 'secret.txt')
os.mkdir('folder')
os.symlink('/', 'folder/root')
'linked'`,
    value: `'linked'`,
  },
  {
    name: 'names of files cannot leave their folder',
    code: `import os
os.makedirs('a/b', exist_ok=True)
for name in ('a/b/..c', '\\u202egnp.exe', 'con\\ntrol', 'x' * 200):
    open(name, 'w').write('x')
'written'`,
    value: `'written'`,
  },
  {
    name: 'more files than there may be are left out',
    code: `for number in range(500): open(f'{number}.txt', 'w').write('x')
'written'`,
    value: `'written'`,
  },
  {
    name: 'an interpreter that is ended by its program is gone',
    code: 'import os; os._exit(3)',
    ended: ['lost'],
  },
  {
    name: 'a fault of the interpreter ends its container only',
    code: 'import ctypes; ctypes.string_at(0xfffffff0)',
    ended: ['lost'],
  },
  {
    name: 'a program that says it is over, and goes on, is ended',
    code: `import asyncio
Task = type(asyncio.current_task())
asyncio.Future.set_result(asyncio.current_task(), '{"value":"1","files":[],"isCut":false}')
async def on():
    while True: pass
asyncio.ensure_future(on())
await asyncio.sleep(1)`,
    ended: ['time', 'lost'],
  },
  {
    name: 'a value and an error that a program makes larger than they may be are cut',
    code: `import json
json.dumps = lambda *a, **k: '{"value":"' + 'x' * 9_000_000 + '","files":[],"isCut":false}'
'mine'`,
    value: /^x+$/,
  },
  {
    name: 'functions of ours that a program replaces are its own',
    code: `import builtins, json, sys, traceback, __main__
json.dumps = lambda *a, **k: '{"value":"forged","files":[["x","/lib/python314.zip"]],"isCut":false}'
traceback.TracebackException = None
'mine'`,
    ended: ['lost', 'output', 'time'],
    value: /forged|mine/,
  },
];

/** Sandboxes are attacked once more where that took too long. */
const PREPARING = { timeout: 240_000 };

for (const level of ['strict', 'basic'] as const) {
  describe(`at level ${level}`, { concurrency: 2 }, () => {
    let bench: Bench;
    /** For what a limit of time is to end: there it is short. */
    let hasty: Bench;
    let secretFile: string;
    let port = 0;
    const connections: string[] = [];
    const server = createServer((socket) => {
      connections.push('one');
      socket.end('x');
    });

    before(async () => {
      const limits = { level, memoryMb: 160, containersMax: 4 } as const;
      bench = await openInterpreter({ ...limits, seconds: 40 });
      hasty = await openInterpreter({ ...limits, seconds: 4 });
      secretFile = join(bench.folder, 'secret');
      await writeFile(secretFile, 'of the host');
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const address = server.address();
      port = typeof address === 'object' && address !== null ? address.port : 0;
    }, PREPARING);
    after(async () => {
      server.close();
      await bench[Symbol.asyncDispose]();
      await hasty[Symbol.asyncDispose]();
    });

    test('the sandbox holds what it is attacked with before any program', (context) => {
      const why = level === 'strict' ? whyNotStrict(bench.status) : false;
      if (why !== false) return context.skip(why);
      assert.equal(bench.status.inForce, level, bench.status.reason);
    });

    for (const { name, code, value, error, ended } of ATTACKS) {
      test(name, { timeout: 80_000 }, async (context) => {
        const { status, runAlone } = ended?.includes('time') ? hasty : bench;
        if (status.inForce === 'off') return context.skip(String(status.reason));
        const program = code
          .replaceAll('SECRET', secretFile)
          .replaceAll('PORT', String(port))
          .replaceAll('PARENT', String(process.pid));
        const output = await runAlone(program);
        const told = JSON.stringify(output).slice(0, 2_000);
        const failure = output.error;
        if (failure && failure.type !== 'exception') {
          assert.ok(ended?.includes(failure.type), `${failure.type}: ${told}`);
        } else if (failure) {
          assert.ok(error, told);
          assert.match(failure.message, error);
        } else if (value instanceof RegExp) assert.match(output.value ?? '', value, told);
        else assert.equal(output.value, value, told);
        assert.deepEqual(connections, []);
        assert.ok(output.stdout.length + output.stderr.length <= 2 * 256 * 1024, told);
        assert.ok((output.value ?? '').length <= 64 * 1024, told);
        assert.ok(output.files.length <= 16);
        for (const file of output.files) {
          assert.doesNotMatch(file.name, /[/\\\p{C}]|^\./u);
          assert.ok(file.name.length <= 120);
          assert.doesNotMatch(Buffer.from(file.bytes).toString('latin1'), /of the host/);
        }
        assert.equal(await readFile(secretFile, 'utf8'), 'of the host');
      });
    }
  });
}

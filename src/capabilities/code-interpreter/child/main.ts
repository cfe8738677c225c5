// Main file of the process that runs programs. It needs only the files of this folder and of the interpreter, and exits
// when its standard input ends. The sandbox that it was started in protects it from outside; the process itself
// protects
// the border between its own realm and Python's realm (realm.ts).
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import vm from 'node:vm';
import { limitWasmMemory } from './limit-wasm-memory.ts';
import { disableNetwork } from './disable-network.ts';
import { PYTHON_HARNESS } from './python-harness.ts';
import { createRealmHost } from './realm-host.ts';
import type { InterpreterFiles } from './realm-host.ts';
import type { InterpreterCommand, StartInterpreterCommand } from './messages.ts';
import { readLines } from './read-lines.ts';
import { bootRealm } from './realm.ts';
import type { Interpreter, RealmOptions, RealmProgram, Realm } from './realm.ts';
import { defineTextCoding } from './text-coding.ts';
import { TIME_ZONES } from './time-zones.ts';

/** Folder in Python's own file system, not on the host. */
const HOME_FOLDER = '/home/user';

/** Chosen: exit code after an unhandled error from Python's realm. */
const REALM_ERROR_EXIT_CODE = 70;

// The error may be an object of Python's realm: inspecting it, as the runtime would, may call code of a program.
process.on('unhandledRejection', () => undefined);
process.on('uncaughtException', (error) => {
  if (!realm) process.stderr.write(`${error.stack}\n`);
  process.exit(REALM_ERROR_EXIT_CODE);
});

let realm: Realm | undefined;
let files: InterpreterFiles | undefined;
const host = createRealmHost({ wake: (timer) => realm?.fireTimer(timer), files: (name) => files?.(name) });

disableNetwork();
readLines(process.stdin, (line) => {
  // Written by the service.
  const command = JSON.parse(line) as InterpreterCommand;
  if (command.type === 'start') {
    files = createInterpreterFiles(command);
    host.configure(command);
    realm = startRealm(command);
    return;
  }
  const inputs = new Map(command.files.map(({ name, bytes }) => [`input/${name}`, Buffer.from(bytes, 'base64')]));
  files = (name) => inputs.get(name);
  host.startProgram(command.nonce);
  const program: RealmProgram = {
    nonce: command.nonce,
    code: command.code,
    inputs: command.files.map(({ name }) => name),
  };
  realm?.run(JSON.stringify(program));
});

const WASM = 'pyodide/pyodide.asm.wasm';

function createInterpreterFiles({
  pyodideFolder,
  snapshotFile,
  wheelsFolder,
  wheelNames,
  limits,
}: StartInterpreterCommand): InterpreterFiles {
  const paths = new Map([
    [WASM, `${pyodideFolder}/pyodide.asm.wasm`],
    ['pyodide/python_stdlib.zip', `${pyodideFolder}/python_stdlib.zip`],
    ['time-zones', fileURLToPath(new URL(TIME_ZONES.fileName, import.meta.url))],
    ...wheelNames.map((name) => [`wheels/${name}`, `${wheelsFolder}/${name}`] as const),
    ...(snapshotFile === undefined ? [] : [['snapshot', snapshotFile] as const]),
  ]);
  let latestFile: { readonly name: string; readonly bytes: Buffer } | undefined;
  return (name) => {
    const path = paths.get(name);
    if (path === undefined) return undefined;
    if (latestFile?.name !== name) {
      latestFile = { name, bytes: readFileSync(path) };
      if (name === WASM) limitWasmMemory(latestFile.bytes, limits.memoryBytes);
    }
    return latestFile.bytes;
  };
}

function startRealm({
  pyodideFolder,
  snapshotFile,
  wheelNames,
  makesSnapshot,
  limits,
}: StartInterpreterCommand): Realm {
  // A new realm contains only the language and what is put into it.
  const context = vm.createContext(vm.constants.DONT_CONTEXTIFY, { codeGeneration: { strings: false, wasm: true } });
  const evaluate = (text: string, filename: string): unknown => new vm.Script(text, { filename }).runInContext(context);
  const source = (name: string): string =>
    readFileSync(`${pyodideFolder}/${name}`, 'utf8')
      // Dynamic imports are not supported there, and their rejection would be an error object of this realm.
      .replaceAll(/(?<![\w$.])import\(/g, 'noImport(')
      .replaceAll('import.meta.url', '"file:///pyodide/"');
  const moduleText = source('pyodide.asm.mjs').replace(/export default (\w+);?\s*$/, 'return $1');
  // A function, because the scripts read their globals as soon as they run.
  const interpreter = (): Interpreter => ({
    loadPyodide: evaluate(`${source('pyodide.js')}\nloadPyodide`, 'pyodide.js') as Interpreter['loadPyodide'],
    createModule: evaluate(`(() => {${moduleText}})()`, 'pyodide.asm.js'),
  });
  const lock = JSON.parse(readFileSync(`${pyodideFolder}/pyodide-lock.json`, 'utf8')) as { readonly info: unknown };
  const options: RealmOptions = {
    hasSnapshot: snapshotFile !== undefined,
    makesSnapshot,
    wheelNames,
    lockInfo: JSON.stringify(lock.info),
    harness: PYTHON_HARNESS,
    homeFolder: HOME_FOLDER,
    harnessLimits: JSON.stringify(limits),
  };
  evaluate(`(${defineTextCoding.toString()})()`, 'text-coding.js');
  const boot = evaluate(`(${bootRealm.toString()})`, 'realm.js') as typeof bootRealm;
  return boot(host.functions, options, interpreter);
}

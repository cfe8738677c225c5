// Plays a container engine: notes how it was called, and for `run` starts the program here, in no container at all.
import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';

const [, , notes, ...args] = process.argv;
appendFileSync(notes, `${JSON.stringify(args)}\n`);
if (args[0] === 'run') {
  const mounts = args
    .filter((arg) => arg.startsWith('type=bind,'))
    .map((arg) => /"source=([^"]+)",target=([^,]+),readonly$/.exec(arg).slice(1));
  const outside = (text) => mounts.reduce((seen, [from, to]) => seen.replaceAll(to, from), text);
  const program = args.slice(args.indexOf('own/node:24') + 1).map(outside);
  const child = spawn(process.execPath, program, { stdio: 'inherit' });
  child.on('exit', (code) => process.exit(code ?? 1));
}

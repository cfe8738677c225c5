// A fake container engine: appends its arguments to a file, and for `run` starts the program without any container.
import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';

const [, , callsFile, ...args] = process.argv;
appendFileSync(callsFile, `${JSON.stringify(args)}\n`);
if (args[0] === 'run') {
  const mounts = args
    .filter((arg) => arg.startsWith('type=bind,'))
    .map((arg) => /"source=([^"]+)",target=([^,]+),readonly$/.exec(arg).slice(1));
  const replaceTargets = (text) => mounts.reduce((result, [source, target]) => result.replaceAll(target, source), text);
  const [entrypoint, ...program] = [
    args[args.indexOf('--entrypoint') + 1],
    ...args.slice(args.indexOf('example/node:24') + 1),
  ].map((arg) => (arg === 'node' ? process.execPath : replaceTargets(arg)));
  const child = spawn(entrypoint, program, { stdio: 'inherit' });
  child.on('exit', (code) => process.exit(code ?? 1));
}

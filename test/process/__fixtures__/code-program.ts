// A program that has a Python program run for ever, and tells when it does. Arguments: the level, and a folder of its own.
import { proven, SETTINGS } from './code-interpreter.ts';

const [, , level, folder = ''] = process.argv;
const { interpreter } = await proven({ ...SETTINGS, level: level === 'basic' ? 'basic' : 'strict', folder });
const forever = new AbortController().signal;
const container = await interpreter.open({ workspace: 'one', files: [] }, forever);
await container.run('begun = True', forever);
const running = container.run('while True: pass', forever);
process.stdout.write('running\n');
await running;

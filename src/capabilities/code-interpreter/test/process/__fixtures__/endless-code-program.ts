// Runs an endless Python program in a code interpreter, and prints `running` when the Python program has started.
// Arguments: the level of the sandbox, and a folder for the snapshot.
import { createVerifiedInterpreter, TEST_SETTINGS } from './test-interpreter.ts';

const [, , level, folder = ''] = process.argv;
const { interpreter } = await createVerifiedInterpreter({ ...TEST_SETTINGS, level: level === 'basic' ? 'basic' : 'strict', folder });
const neverAborts = new AbortController().signal;
const container = await interpreter.open({ tenant: { region: 'cn-beijing', workspace: 'one' }, files: [] }, neverAborts);
await container.run('started = True', neverAborts);
const running = container.run('while True: pass', neverAborts);
process.stdout.write('running\n');
await running;

// `npm run bench [gateway|engine …]`: ratios side by side in one run, printed as one table.
import { existsSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { modelsFolder } from '../test/models-folder.ts';
import { engine } from './engine.ts';
import { gateway } from './gateway.ts';
import { table } from './table.ts';
import type { Row } from './table.ts';

const wanted = process.argv.slice(2);
const note = (text: string): void => void process.stderr.write(`  ${text}\n`);
const rows: Row[] = [];

if (wanted.length === 0 || wanted.includes('gateway')) rows.push(...(await gateway(note)));
if (wanted.length === 0 || wanted.includes('engine')) {
  const folder = modelsFolder();
  const file = join(folder, 'qwen2.5-coder-0.5b-instruct-q4_k_m.gguf');
  if (existsSync(file)) rows.push(...(await engine(file, folder, note)));
  else note(`no ${file}: parley models pull svc-plus`);
}

const machine = `${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'}), ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`;
process.stdout.write(`${new Date().toISOString().slice(0, 10)}, ${machine}\n\n${table(rows)}`);
process.exit(0);

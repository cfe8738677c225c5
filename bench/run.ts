// `npm run bench [gateway|engine|schemas|translation …]`: ratios side by side in one run, printed as one table.
import { existsSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { modelsFolder } from '../test/models-folder.ts';
import { engine } from './engine.ts';
import { gateway } from './gateway.ts';
import { schemaAnswers } from './schemas.ts';
import { table } from './table.ts';
import type { Row } from './table.ts';
import { translation } from './translation.ts';

const wanted = process.argv.slice(2);
const note = (text: string): void => void process.stderr.write(`  ${text}\n`);
const rows: Row[] = [];

if (wanted.length === 0 || wanted.includes('gateway')) rows.push(...(await gateway(note)));
const remarks: string[] = [];
const folder = modelsFolder();
const file = join(folder, 'qwen2.5-coder-0.5b-instruct-q4_k_m.gguf');
const hasWeights = existsSync(file);
if (!hasWeights) note(`no ${file}: parley models pull svc-plus`);
if (hasWeights && (wanted.length === 0 || wanted.includes('engine'))) rows.push(...(await engine(file, folder, note)));
if (hasWeights && (wanted.length === 0 || wanted.includes('schemas'))) remarks.push(await schemaAnswers(folder, note));
// Takes half an hour: only for those who ask.
if (hasWeights && wanted.includes('translation')) remarks.push(await translation(folder, note));

const machine = `${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'}), ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`;
process.stdout.write(
  `${new Date().toISOString().slice(0, 10)}, ${machine}\n\n${rows.length > 0 ? table(rows) : ''}${remarks.map((remark) => `\n${remark}\n`).join('')}`,
);
process.exit(0);

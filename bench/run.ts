// `npm run bench [-- PART …]`: ratios side by side in one run, printed as one table.
import { existsSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { modelsFolder } from '../test/models-folder.ts';
import { batches, batchesOfEngine } from './batches.ts';
import { code } from './code.ts';
import { conversationPages } from './conversations.ts';
import { deployments, deploymentsOfEngine } from './deployments.ts';
import { engine } from './engine.ts';
import { files } from './files.ts';
import { gateway } from './gateway.ts';
import { besideLlamaServer } from './llama-server.ts';
import { proxies } from './proxies.ts';
import { research } from './research.ts';
import { schemaAnswers } from './schemas.ts';
import { speech } from './speech.ts';
import { table } from './table.ts';
import type { Row } from './table.ts';
import { translation } from './translation.ts';
import { turns } from './turns.ts';
import { underLoad } from './under-load.ts';

const note = (text: string): void => void process.stderr.write(`  ${text}\n`);
const folder = modelsFolder();
const file = join(folder, 'qwen2.5-coder-0.5b-instruct-q4_k_m.gguf');

interface Part {
  readonly needsWeights: boolean;
  /** What its first run does that takes long; such a part runs only when it is named. */
  readonly setUp?: string;
  run(): Promise<{ readonly rows: readonly Row[]; readonly remarks: readonly string[] }>;
}

const rowsOf = async (rows: Promise<readonly Row[]>) => ({ rows: await rows, remarks: [] });

const PARTS: Readonly<Record<string, Part>> = {
  gateway: { needsWeights: false, run: () => rowsOf(gateway(note)) },
  conversations: { needsWeights: false, run: () => rowsOf(conversationPages(note)) },
  files: { needsWeights: false, run: () => rowsOf(files(note)) },
  code: { needsWeights: false, run: () => rowsOf(code(note)) },
  batches: { needsWeights: false, run: () => rowsOf(batches(note)) },
  'batches-engine': { needsWeights: true, run: () => rowsOf(batchesOfEngine(folder, note)) },
  deployments: { needsWeights: false, run: () => rowsOf(deployments(note)) },
  'deployments-engine': { needsWeights: true, run: () => rowsOf(deploymentsOfEngine(folder, note)) },
  load: { needsWeights: false, run: () => underLoad(note) },
  engine: { needsWeights: true, run: () => rowsOf(engine(file, folder, note)) },
  turns: { needsWeights: true, run: () => rowsOf(turns(folder, note)) },
  schemas: {
    needsWeights: true,
    run: async () => ({ rows: [], remarks: [await schemaAnswers(folder, note)] }),
  },
  translation: {
    needsWeights: true,
    setUp: 'and each other translates 900 sentences, half an hour and more',
    run: async () => ({ rows: [], remarks: [await translation(folder, note)] }),
  },
  research: {
    needsWeights: true,
    setUp: 'and each other writes three reports twice, ten minutes and more',
    run: async () => ({ rows: [], remarks: [await research(folder, note)] }),
  },
  speech: {
    needsWeights: false,
    setUp: 'and each other hears 100 utterances with seven vocabularies, eight minutes',
    run: () => speech(note),
  },
  proxies: {
    needsWeights: false,
    setUp: 'installs LiteLLM and Portkey, three minutes',
    run: () => rowsOf(proxies(note)),
  },
  'llama-server': {
    needsWeights: true,
    setUp: 'builds llama.cpp, ten minutes',
    run: () => besideLlamaServer(file, folder, note),
  },
};

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in PARTS));
if (unknown.length > 0) {
  process.stderr.write(`no part ${unknown.join(', ')}: there are ${Object.keys(PARTS).join(', ')}\n`);
  process.exit(2);
}

const hasWeights = existsSync(file);
const rows: Row[] = [];
const remarks: string[] = [];
for (const [name, part] of Object.entries(PARTS)) {
  if (wanted.length > 0 ? !wanted.includes(name) : part.setUp !== undefined) continue;
  if (part.needsWeights && !hasWeights) {
    note(`${name} is left out, there is no ${file}: parley models pull svc-plus`);
    continue;
  }
  const { rows: more, remarks: said } = await part.run();
  rows.push(...more);
  remarks.push(...said);
}
if (wanted.length === 0) {
  const others = Object.entries(PARTS).filter(([, { setUp }]) => setUp !== undefined);
  for (const [name, { setUp }] of others) note(`not run: npm run bench -- ${name} (its first run ${setUp})`);
}

const machine = `${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'}), ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`;
process.stdout.write(
  `${new Date().toISOString().slice(0, 10)}, ${machine}\n\n${rows.length > 0 ? table(rows) : ''}${remarks.map((remark) => `\n${remark}\n`).join('')}`,
);
process.exit(0);

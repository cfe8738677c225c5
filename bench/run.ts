// `npm run bench [-- NAME …]` runs benchmarks side by side and prints the ratios as one table.
import { existsSync, globSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { getModelsFolder } from '../test/models-folder.ts';
import type { Benchmark, BenchmarkDeps } from './benchmark.ts';
import { measureBatches, measureEngineBatches } from './batches.ts';
import { measureConversationPages } from './conversations.ts';
import { measureDeployments, measureEngineDeployments } from './deployments.ts';
import { measureDrafts } from './drafts.ts';
import { measureEngine } from './engine.ts';
import { measureFiles } from './files.ts';
import { measureGateway } from './gateway.ts';
import { measureBesideLlamaServer } from './llama-server.ts';
import { measureProxies } from './proxies.ts';
import { measureSchemaAnswers } from './schemas.ts';
import { formatTable } from './result-table.ts';
import type { ResultRow } from './result-table.ts';
import { measureCitationTruth } from './truth-citations.ts';
import { measureProgramTruth } from './truth-programs.ts';
import { measureTranslationTruth } from './truth-translation.ts';
import { measureSchemaTruth } from './truth.ts';
import { measureTranslation } from './translation.ts';
import { measureLateTurn } from './turns.ts';
import { measureUnderLoad } from './under-load.ts';

const logProgress = (text: string): void => void process.stderr.write(`  ${text}\n`);
const modelsFolder = getModelsFolder();
const modelFile = join(modelsFolder, 'qwen2.5-coder-0.5b-instruct-q4_k_m.gguf');

const OWN_BENCHMARKS: Readonly<Record<string, Benchmark>> = {
  gateway: { run: () => measureGateway(logProgress) },
  conversations: { run: () => measureConversationPages(logProgress) },
  files: { run: () => measureFiles(logProgress) },
  batches: { run: () => measureBatches(logProgress) },
  'batches-engine': { needsWeights: true, run: () => measureEngineBatches(modelsFolder, logProgress) },
  deployments: { run: () => measureDeployments(logProgress) },
  'deployments-engine': {
    needsWeights: true,
    run: () => measureEngineDeployments(modelsFolder, logProgress),
  },
  load: { run: () => measureUnderLoad(logProgress) },
  engine: { needsWeights: true, run: () => measureEngine(modelFile, modelsFolder, logProgress) },
  drafts: { needsWeights: true, run: () => measureDrafts(modelFile, modelsFolder, logProgress) },
  turns: { needsWeights: true, run: () => measureLateTurn(modelsFolder, logProgress) },
  schemas: {
    needsWeights: true,
    run: () => measureSchemaAnswers(modelsFolder, logProgress),
  },
  truth: { run: () => measureSchemaTruth(logProgress) },
  'truth-citations': {
    longTask: 'downloads two documentation packages',
    run: () => measureCitationTruth(logProgress),
  },
  'truth-programs': {
    needsWeights: true,
    longTask: 'answers 18 questions with programs, 10 minutes',
    run: () => measureProgramTruth(modelsFolder, logProgress),
  },
  'truth-translation': {
    needsWeights: true,
    longTask: 'translates 24 sentences, 5 minutes',
    run: () => measureTranslationTruth(modelsFolder, logProgress),
  },
  translation: {
    needsWeights: true,
    longTask: 'translates 900 sentences, 30 minutes or more',
    run: () => measureTranslation(modelsFolder, logProgress),
  },
  proxies: {
    longTask: 'installs LiteLLM and Portkey once, 3 minutes',
    run: () => measureProxies(logProgress),
  },
  'llama-server': {
    needsWeights: true,
    longTask: 'builds llama.cpp once, 10 minutes',
    run: () => measureBesideLlamaServer(modelFile, modelsFolder, logProgress),
  },
};

/** Imports the benchmarks of the capabilities: each has an optional file that exports `createBenchmarks`. */
async function importCapabilityBenchmarks(): Promise<Readonly<Record<string, Benchmark>>> {
  const files = globSync('../src/capabilities/*/bench/benchmarks.ts', { cwd: import.meta.dirname });
  const modules: readonly { createBenchmarks(deps: BenchmarkDeps): Readonly<Record<string, Benchmark>> }[] =
    await Promise.all(files.toSorted().map((file) => import(pathToFileURL(join(import.meta.dirname, file)).href)));
  return Object.assign({}, ...modules.map((module) => module.createBenchmarks({ modelsFolder, logProgress })));
}

const BENCHMARKS = { ...OWN_BENCHMARKS, ...(await importCapabilityBenchmarks()) };
const requestedNames = process.argv.slice(2);
const unknownNames = requestedNames.filter((name) => !(name in BENCHMARKS));
if (unknownNames.length > 0) {
  process.stderr.write(`unknown benchmark ${unknownNames.join(', ')}: use ${Object.keys(BENCHMARKS).join(', ')}\n`);
  process.exit(2);
}

const hasWeights = existsSync(modelFile);
const rows: ResultRow[] = [];
const remarks: string[] = [];
for (const [name, benchmark] of Object.entries(BENCHMARKS)) {
  if (requestedNames.length > 0 ? !requestedNames.includes(name) : benchmark.longTask !== undefined) continue;
  if (benchmark.needsWeights && !hasWeights) {
    logProgress(`skipped ${name}: missing ${modelFile}; download it with: parley models pull svc-plus`);
    continue;
  }
  const result = await benchmark.run();
  if (typeof result === 'string') remarks.push(result);
  else if ('remarks' in result) {
    rows.push(...result.rows);
    remarks.push(...result.remarks);
  } else rows.push(...result);
}
if (requestedNames.length === 0) {
  const skipped = Object.entries(BENCHMARKS).filter(([, { longTask }]) => longTask !== undefined);
  for (const [name, { longTask }] of skipped)
    logProgress(`not run: ${name} (${longTask}); run it with: npm run bench -- ${name}`);
}

const machine = `${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'}), ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`;
process.stdout.write(
  `${new Date().toISOString().slice(0, 10)}, ${machine}\n\n${rows.length > 0 ? formatTable(rows) : ''}${remarks.map((remark) => `\n${remark}\n`).join('')}`,
);
process.exit(0);

import type { ModelEntry } from '../../catalogue/model.ts';
import { createLlamaEngine } from '../../engines/llama/llama-engine.ts';
import { createLlamaProcess } from '../../engines/llama/llama-process.ts';
import type { LlamaEndpoint } from '../../engines/llama/protocol.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';
import { findTemplateFile, getConfiguredTemplate, readTemplateFile } from '../chat-template-file.ts';
import { formatAdapters, getDraftTokens, getProcessOptions } from '../process-options.ts';
import { getConfiguredContext, getRunnerOptions, type Runner, type RunnerDeps } from './runner.ts';
import { createRunningTextEngine, recordModelInfo } from './running-engine.ts';

/** Runs local weights in the embedded llama.cpp. Entries with the same weights and settings share one engine. */
export function createLlamaRunner(deps: RunnerDeps): Runner {
  const { llama, host, models, textEngines, log } = deps;
  const getWeights = (entry: ModelEntry): string => getRunnerOptions(entry, 'weights').weights;
  const getKey = (entry: ModelEntry): string =>
    `llama ${getWeights(entry)} ${getConfiguredContext(entry, deps) ?? ''} ${getConfiguredTemplate(entry) ?? ''} ${formatAdapters(entry)} ${getDraftTokens(entry) ?? ''}`;

  const startProcess = async (entry: ModelEntry, modelFile: string) => {
    const name = getWeights(entry);
    const contextTokens = getConfiguredContext(entry, deps);
    const guard = models.createGuard(entry, modelFile);
    return createLlamaProcess({ ...llama, name, modelFile, guard, ...getProcessOptions(entry), contextTokens }, log);
  };

  return {
    parts: ['text', 'embeddings', 'ranking'],
    getKey,
    lease: (entry) =>
      textEngines.lease(getKey(entry), async () => {
        const modelFile = await models.locate(entry, getWeights(entry));
        const chatTemplate = await readTemplateFile(entry, findTemplateFile(entry, modelFile));
        const process = await (host ? host.open<LlamaEndpoint>(entry.name) : startProcess(entry, modelFile));
        const onToken = deps.createTokenRecorder(getKey(entry));
        const engine = createLlamaEngine({
          process,
          sequences: llama.sequences,
          onToken,
          ...omitNullish({ chatTemplate }),
        });
        recordModelInfo(entry, engine, deps);
        const readLoad = async () => {
          const load = await engine.readLoad();
          return load && { engine: getWeights(entry), ...load };
        };
        return Object.assign(createRunningTextEngine(engine, process), { readLoad });
      }),
    getState: (entry) => models.describe(entry, { engineState: textEngines.getState(getKey(entry)) }),
  };
}

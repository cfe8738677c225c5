import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** The models folder of a Parley that was told nothing else: where `parley models pull` puts weights on this machine. */
export function modelsFolder(env: NodeJS.ProcessEnv = process.env): string {
  const data = env.PARLEY_DATA ?? join(env.XDG_DATA_HOME ?? join(homedir(), '.local', 'share'), 'parley');
  return env.PARLEY_MODELS_FOLDER ?? join(data, 'models');
}

/** Why tests on this model of the catalogue are skipped, or false when its weights are there. */
export function lacksWeights(model: 'svc-tiny' | 'svc-plus'): string | false {
  const catalogue: { weights: Record<string, unknown>; models: Record<string, { weights: string }> } = JSON.parse(
    readFileSync(new URL('../catalogue/models.json', import.meta.url), 'utf8'),
  );
  const id = catalogue.models[model]?.weights ?? '';
  const file = `${catalogue.weights[id] instanceof Object ? id : String(catalogue.weights[id])}.gguf`;
  if (existsSync(join(modelsFolder(), file))) return false;
  return `the weights of ${model} are not on this machine (parley models pull ${model})`;
}

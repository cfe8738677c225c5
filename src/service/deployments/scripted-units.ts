import { parsePromptScript } from '../../engines/scripted/parse-prompt-script.ts';
import { createScriptedEngine } from '../../engines/scripted/scripted-engine.ts';
import type { DeploymentUnits, UnitsRequest } from './deployment-units.ts';

/** Opens units of a scripted engine, which replaces the engines of this machine (tests, demos). */
export function openScriptedUnits({ entry: { contextTokens }, units }: UnitsRequest): DeploymentUnits {
  const engine = createScriptedEngine({ script: parsePromptScript, contextTokens, sequences: units });
  return {
    engine,
    units: Array.from({ length: units }, () => engine),
    isUp: () => true,
    connection: { type: 'scripted' },
    processes: [],
    close: () => engine.close(),
  };
}

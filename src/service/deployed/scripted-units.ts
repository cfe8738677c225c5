import { promptScript } from '../../engines/scripted/prompt-script.ts';
import { createScriptedEngine } from '../../engines/scripted/scripted-engine.ts';
import type { OpenedUnits, UnitsWish } from './opened-units.ts';

/** In the place of what would run on this machine. */
export function openScriptedUnits({ entry: { contextTokens }, units }: UnitsWish): OpenedUnits {
  const engine = createScriptedEngine({ script: promptScript, contextTokens, sequences: units });
  return {
    engine,
    units: Array.from({ length: units }, () => engine),
    isUp: () => true,
    reach: { type: 'scripted' },
    processes: [],
    close: () => engine.close(),
  };
}

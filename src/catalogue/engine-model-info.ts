import type { Abilities } from '../core/abilities.ts';
import type { ModelEntry } from './model.ts';

/** Properties of a model, as reported by the engine that runs it. */
export interface EngineModelInfo {
  readonly contextTokens: number;
  readonly abilities: Abilities;
}

/** Completes an entry with the engine's information, where the catalogue leaves it open. */
export function applyEngineModelInfo(entry: ModelEntry, info: EngineModelInfo): ModelEntry {
  return {
    ...entry,
    contextTokens: entry.isContextGuessed ? info.contextTokens : entry.contextTokens,
    abilities: { ...info.abilities, ...entry.abilities },
  };
}

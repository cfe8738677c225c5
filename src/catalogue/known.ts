import type { Abilities } from '../core/abilities.ts';
import type { ModelEntry } from './model.ts';

/** What an engine has told of the model that it runs. */
export interface Known {
  readonly contextTokens: number;
  readonly abilities: Abilities;
}

/** An entry with what its engine knows in the places that the catalogue leaves open. */
export function withKnown(entry: ModelEntry, known: Known): ModelEntry {
  return {
    ...entry,
    contextTokens: entry.isContextGuessed ? known.contextTokens : entry.contextTokens,
    abilities: { ...known.abilities, ...entry.abilities },
  };
}

import type { ModelFamily } from './family.ts';
import { qwen2 } from './qwen2.ts';
import { smollm2 } from './smollm2.ts';
import { template } from './template.ts';

/** All model families by their names in the catalogue. A new family needs a file and a line here. */
export const FAMILIES = { qwen2, smollm2, template } as const satisfies Record<string, ModelFamily>;

export type FamilyName = keyof typeof FAMILIES;

export const isFamilyName = (name: string): name is FamilyName => Object.hasOwn(FAMILIES, name);

/** Returns the family of that name, or `template` for an unknown name (which the schema rejects). */
export const getFamily = (name: string): ModelFamily => (isFamilyName(name) ? FAMILIES[name] : template);

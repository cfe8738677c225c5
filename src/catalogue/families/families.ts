import type { Family } from './family.ts';
import { qwen2 } from './qwen2.ts';
import { smollm2 } from './smollm2.ts';
import { template } from './template.ts';

/** Every family by the name that the catalogue uses. A new family is a file and a line here. */
export const FAMILIES = { qwen2, smollm2, template } as const satisfies Record<string, Family>;

export type FamilyName = keyof typeof FAMILIES;

export const isFamilyName = (name: string): name is FamilyName => Object.hasOwn(FAMILIES, name);

/** The family of that name; `template` for one that is not known (the schema lets none through). */
export const familyOf = (name: string): Family => (isFamilyName(name) ? FAMILIES[name] : template);

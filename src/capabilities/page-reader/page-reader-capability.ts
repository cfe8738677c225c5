import type { Capability } from '../../service/capability.ts';
import { openPageReader } from './open-page-reader.ts';

/** Reads web pages: for search, deep research, and models that may read pages. */
export const pageReader: Capability = { name: 'page reader', openTools: openPageReader };

/**
 * Maps the name of a shared chat field to its path in one interface's request, for errors and the x-parley-ignored
 * header.
 */
export type FieldPathMapper = (field: string) => string;

/** Mapper for interfaces that have the fields at the top level. */
export const topLevelPath: FieldPathMapper = (field) => field;

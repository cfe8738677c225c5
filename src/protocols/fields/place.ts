/** Where a field of the shared ones stands in the request of an interface: refusals and x-parley-ignored name it there. */
export type Place = (field: string) => string;

/** For interfaces that have the fields at the top. */
export const atTop: Place = (field) => field;

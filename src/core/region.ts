/** The specification's table of regions; names for messages. */
export const REGIONS = {
  'cn-beijing': 'China (Beijing)',
  'ap-southeast-1': 'Singapore',
  'us-east-1': 'US (Virginia)',
  'cn-hongkong': 'China (Hong Kong)',
  'eu-central-1': 'Germany (Frankfurt)',
} as const;

export type RegionId = keyof typeof REGIONS;

export const REGION_IDS = Object.keys(REGIONS) as RegionId[];

export const isRegionId = (text: string): text is RegionId => Object.hasOwn(REGIONS, text);

/** `China (Beijing) cn-beijing` for messages. */
export const regionName = (id: RegionId): string => `${REGIONS[id]} (${id})`;

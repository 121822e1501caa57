import { hash } from 'node:crypto';

const FIRST = [
  'Andes',
  'Bahia',
  'Cedar',
  'Delta',
  'Eastgate',
  'Fjord',
  'Granada',
  'Harbour',
  'Iris',
  'Jade',
  'Kestrel',
  'Lagoon',
  'Meridian',
  'Norte',
  'Orchard',
  'Pacific',
  'Quarry',
  'Riviera',
  'Sierra',
  'Tamarind',
  'Umbra',
  'Valencia',
  'Willow',
  'Zephyr',
];
const SECOND = [
  'Bakery',
  'Books',
  'Ceramics',
  'Clinic',
  'Design',
  'Electric',
  'Farms',
  'Freight',
  'Glass',
  'Hotel',
  'Imports',
  'Labs',
  'Logistics',
  'Metals',
  'Optics',
  'Paper',
  'Press',
  'Roofing',
  'Seeds',
  'Studio',
  'Supplies',
  'Textiles',
  'Tools',
  'Travel',
];

/** An invented nick-name for an identity that nobody named: always the same for the same id. */
export function inventedName(identityId: string): string {
  const bytes = hash('sha256', identityId, 'buffer');
  const [first = '', second = ''] = [pick(FIRST, bytes.readUInt16BE(0)), pick(SECOND, bytes.readUInt16BE(2))];
  return `${first} ${second} ${identityId.slice(0, 4)}`;
}

function pick(words: readonly string[], number: number): string | undefined {
  return words[number % words.length];
}

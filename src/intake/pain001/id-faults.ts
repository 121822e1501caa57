/** Max35Text of ISO 20022. */
const ID_CHARACTERS_MAX = 35;

/** What is wrong with MsgId or PmtInfId, by which a status report answers, as the rest of a sentence. */
export function idFault(id: string | undefined): string | undefined {
  if (id === undefined) return 'is missing';
  if (id.trim() === '') return 'is empty';
  if (id.trim() !== id) return 'has blanks around it';
  return isTooLong(id) ? `has more than ${ID_CHARACTERS_MAX} characters` : undefined;
}

/** The same for InstrId, which a transfer need not have. */
export function instructionIdFault(id: string | undefined): string | undefined {
  return id !== undefined && isTooLong(id) ? `has more than ${ID_CHARACTERS_MAX} characters` : undefined;
}

function isTooLong(id: string): boolean {
  return Array.from(id).length > ID_CHARACTERS_MAX;
}

/** The ids of faults.md. */
export const FAULT_IDS: readonly FaultId[] = Array.from({ length: 68 }, (_, index) => `F${index + 1}` as const);
export type FaultId = `F${number}`;

/** Why a fault has no row. One that has a row must not stand here. */
export const ABSENT: Readonly<Partial<Record<FaultId, string>>> = {};

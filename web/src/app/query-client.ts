import { createQueryClient } from "../api";

export const queryClient = createQueryClient();

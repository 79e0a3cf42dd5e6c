"""What a machine is and offers: its identity and its devices. Used by the agent and the control plane, without torch."""

from codefy_protocol.machine.identity import boot_id, machine_id, platform_name
from codefy_protocol.machine.inventory import CardProcess, DeviceInventory, Reading

__all__ = ["CardProcess", "DeviceInventory", "Reading", "boot_id", "machine_id", "platform_name"]

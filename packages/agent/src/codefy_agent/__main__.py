from codefy_agent.cli import main

main()
